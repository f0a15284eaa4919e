"""`/v1/budgets`: limits and spending of scopes."""

from typing import Annotated, Any

from fastapi import APIRouter, Query

from purser.budget.policies.fields import read_ratio
from purser.budget.policies.policy import PolicyPatch
from purser.budget.scopes import Kind, Scope
from purser.gateway.access.auth import BudgetSetter, Reader, check_tenant
from purser.gateway.access.roles import Principal
from purser.gateway.http.pagination import Cursor, PageSize
from purser.gateway.http.routing import Route
from purser.gateway.services import Services, Use
from purser.wire.base import PageOf
from purser.wire.budgets import BudgetAnswer, BudgetBody, ForecastBudgetAnswer

router = APIRouter(route_class=Route, prefix="/v1/budgets", tags=["budgets"])


@router.get("", response_model=PageOf[BudgetAnswer])
async def list_budgets(
    caller: Reader,
    use: Use,
    over: Annotated[str | None, Query(description="Minimum ratio, for example 0.95.")] = None,
    kind: Annotated[Kind | None, Query()] = None,
    cursor: Cursor = None,
    limit: PageSize = 100,
) -> dict[str, Any]:
    """Lists scopes that have been used or have a policy, oldest first."""
    least = None if over is None else read_ratio(over, "over")
    after = int(cursor or 0)
    views, following = await use.policies.budgets(caller.tenant, over=least, kind=kind, after=after, limit=limit)
    return {"items": [view.to_json() for view in views], "cursor": None if following is None else str(following)}


@router.get("/{scope:path}", response_model=ForecastBudgetAnswer)
async def show(scope: str, caller: Reader, use: Use) -> dict[str, Any]:
    """Returns a budget in its current window with a forecast. An unused scope has its default policy and zeros."""
    return await _shown(use, caller, _scope(scope, caller))


@router.put("/{scope:path}", response_model=ForecastBudgetAnswer)
async def change(scope: str, body: BudgetBody, caller: BudgetSetter, use: Use) -> dict[str, Any]:
    """Stores fields of a scope's policy and returns the budget. Effective from the next hold; open holds finish."""
    chosen = _scope(scope, caller)
    given = body.model_dump(exclude_unset=True)
    clear = [name for name, value in given.items() if value is None]
    await use.policies.set(caller.tenant, chosen, PolicyPatch.parse(given), clear=clear, by=caller)
    return await _shown(use, caller, chosen)


READS = tuple(route for route in router.routes if isinstance(route, Route) and route.endpoint in (list_budgets, show))
"""The endpoints that `DirectRoutes` serves."""


async def _shown(use: Services, caller: Principal, scope: Scope) -> dict[str, Any]:
    budget = await use.policies.budget(caller.tenant, scope)
    forecasts = await use.burn.of(caller.tenant, [budget])
    further = await use.policies.further(caller.tenant, scope)
    return budget.to_json() | {
        "forecast": forecasts[budget.scope].to_json(),
        "further_limits": [view.to_json() for view in further],
    }


def _scope(text: str, caller: Principal) -> Scope:
    scope = Scope.parse(text)
    check_tenant(caller, scope)
    return scope
