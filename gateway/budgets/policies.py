"""`/v1/policies`: all stored policies and templates as one document."""

from datetime import UTC, datetime, timedelta

from fastapi import APIRouter

from purser.budget.errors import InvalidRequest
from purser.budget.policies.sets import read_policies
from purser.budget.policies.templates import is_pattern
from purser.budget.reports.replay.lines import NOT_KNOWN, NOT_KNOWN_OF_LADDERS, Line
from purser.budget.scopes import Scope
from purser.gateway.access.auth import BudgetSetter, Reader, check_tenant
from purser.gateway.http.routing import Route
from purser.gateway.services import Use
from purser.wire.policies import (
    AppliedView,
    PoliciesBody,
    PoliciesView,
    PolicyChangeView,
    ReplayBody,
    ReplayLineView,
    ReplayScopeView,
    ReplayStepView,
    ReplayView,
)

router = APIRouter(route_class=Route, prefix="/v1/policies", tags=["budgets"])

LONGEST_REPLAY = timedelta(days=400)
MOST_SCOPES = 1_000
"""Most scopes in the answer to a replay."""


@router.post("/replay")
async def replay(body: ReplayBody, caller: Reader, use: Use) -> ReplayView:
    """Replays the ledger's history under other policies with the rules of the gate. Changes nothing.

    Only calls that were admitted are in the history. A call that the policies would have stopped counts nothing, and
    one that reaches a step of a ladder asks for less.
    """
    wanted = read_policies(body.policies)
    if datetime.now(UTC) - body.since > LONGEST_REPLAY:
        raise InvalidRequest(f"since {body.since.isoformat()} is too long ago: at most {LONGEST_REPLAY.days} days")
    done = await use.replays.run(caller.tenant, wanted, body.since)
    return ReplayView(
        calls=done.calls,
        total=ReplayLineView(**done.total.to_json()),
        scopes=[_line_view(scope, line) for scope, line in done.worst(MOST_SCOPES)],
        not_known=[*NOT_KNOWN, *(NOT_KNOWN_OF_LADDERS if done.reaches_steps else ())],
    )


def _line_view(scope: Scope, line: Line) -> ReplayScopeView:
    steps = [ReplayStepView(**step) for step in line.ladder_json()]
    return ReplayScopeView(scope=str(scope), ladder=steps, **line.to_json())


@router.get("")
async def export(caller: Reader, use: Use) -> PoliciesView:
    """Returns all stored policies and templates, as `PUT /v1/policies` takes them."""
    stored = await use.policy_sets.stored(caller.tenant)
    return PoliciesView(policies={name: patch.to_json() for name, patch in stored.items()})


@router.put("")
async def apply(body: PoliciesBody, caller: BudgetSetter, use: Use) -> AppliedView:
    """Stores the policies, all or none, and returns what changed. Effective from the next hold; open holds finish.

    The same document again changes nothing.
    """
    wanted = read_policies(body.policies)
    check_tenant(caller, *(Scope.parse(name) for name in wanted if not is_pattern(name)))
    changes = await use.policy_sets.apply(caller.tenant, wanted, by=caller, prune=body.prune, dry_run=body.dry_run)
    return AppliedView(changes=[PolicyChangeView(**change.to_json()) for change in changes], applied=not body.dry_run)
