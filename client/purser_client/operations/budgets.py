"""`/v1/budgets` and `/v1/policies`: limits, spending and forecasts."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from purser_client.operations.arguments import given, mapping, scope_parts
from purser_client.operations.operation import AsyncGroup, Group, Offered, Operation, checked
from purser_client.types import (
    AppliedView,
    BudgetBody,
    BudgetPage,
    ForecastBudgetAnswer,
    PoliciesBody,
    PoliciesView,
    ReplayBody,
    ReplayView,
)


def show(scope: str) -> Operation[ForecastBudgetAnswer]:
    """Returns a budget in its current window with a forecast. An unused scope has its default policy and zeros."""
    return Operation("budgets_show", "GET", f"/v1/budgets/{scope_parts(scope)}", ForecastBudgetAnswer)


def change(scope: str, fields: BudgetBody) -> Operation[ForecastBudgetAnswer]:
    """Stores the fields that are set, and returns the budget. `None` resets a field to its default."""
    return Operation("budgets_change", "PUT", f"/v1/budgets/{scope_parts(scope)}", ForecastBudgetAnswer, fields)


def list_all(
    *, over: float | None = None, kind: str | None = None, cursor: str | None = None, limit: int | None = None
) -> Operation[BudgetPage]:
    """Lists scopes that have been used or have a policy, oldest first."""
    query = given(over=over, kind=kind, cursor=cursor, limit=limit)
    return Operation("budgets_list", "GET", "/v1/budgets", BudgetPage, query=query)


def export() -> Operation[PoliciesView]:
    """Returns all stored policies and templates, as `apply` takes them."""
    return Operation("policies_export", "GET", "/v1/policies", PoliciesView)


@checked
def apply(
    policies: Mapping[str, Mapping[str, Any] | None], *, prune: bool = False, dry_run: bool = False
) -> Operation[AppliedView]:
    """Stores the policies, all or none, and returns what changed."""
    body = PoliciesBody(policies=_named(policies), prune=prune, dry_run=dry_run)
    return Operation("policies_apply", "PUT", "/v1/policies", AppliedView, body)


@checked
def replay(policies: Mapping[str, Mapping[str, Any] | None], since: datetime) -> Operation[ReplayView]:
    """Replays the ledger's history under other policies with the rules of the gate."""
    body = ReplayBody(policies=_named(policies), since=since)
    return Operation("policies_replay", "POST", "/v1/policies/replay", ReplayView, body)


def _named(policies: Mapping[str, Mapping[str, Any] | None]) -> dict[str, dict[str, Any] | None]:
    named = mapping("policies", policies)
    return {name: None if fields is None else mapping(f"policies.{name}", fields) for name, fields in named.items()}


class _Budgets:
    show = Offered(show)
    change = Offered(change)
    list = Offered(list_all)
    export = Offered(export)
    apply = Offered(apply)
    replay = Offered(replay)


class Budgets(_Budgets, Group):
    """Limits, spending and forecasts of scopes."""


class AsyncBudgets(_Budgets, AsyncGroup):
    """Limits, spending and forecasts of scopes, to be awaited."""
