"""`/v1/policies`: all stored policies and templates as one document."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import Field

from purser.budget.errors import InvalidRequest
from purser.budget.policies.sets import MAX_POLICIES, PolicyAction, read_policies
from purser.budget.policies.templates import is_pattern
from purser.budget.reports.replay.lines import NOT_KNOWN, NOT_KNOWN_OF_LADDERS, Line
from purser.budget.scopes import Scope
from purser.gateway.access.auth import BudgetSetter, Reader, check_tenant
from purser.gateway.http.routing import Route
from purser.gateway.services import Use
from purser.wire.base import Body, View
from purser.wire.fields import Time

router = APIRouter(route_class=Route, prefix="/v1/policies", tags=["budgets"])

LONGEST_REPLAY = timedelta(days=400)
MOST_SCOPES = 1_000
"""Most scopes in the answer to a replay."""
Policies = Annotated[dict[str, dict[str, Any] | None], Field(max_length=MAX_POLICIES)]


class PoliciesBody(Body):
    """Policies to store, and what to do with those that they do not name."""

    policies: Policies
    """Fields by name: of one scope (`session:s1`), or of all scopes that a template matches (`session:*`). The fields
    are those of `PUT /v1/budgets/{scope}`, and `limit_usd` in dollars as text; one that is left out is cleared. `null`
    removes the policy."""
    prune: bool = False
    """Also removes every policy that `policies` does not name."""
    dry_run: bool = False
    """Returns the changes and makes none."""


class PoliciesView(View):
    """All stored policies and templates."""

    policies: dict[str, dict[str, Any]]
    """The fields that each sets, by the scope or the pattern."""


class PolicyChangeView(View):
    """The effect on one policy."""

    name: str
    """The scope or the pattern."""
    action: PolicyAction
    before: dict[str, Any] | None
    """`null`: none was stored."""
    after: dict[str, Any] | None
    """`null`: none is stored any more."""


class AppliedView(View):
    """The changes, by name; none if everything was stored like this already."""

    changes: list[PolicyChangeView]
    applied: bool
    """Whether they were made: not with `dry_run`."""


class ReplayBody(Body):
    """Policies to replay the ledger's history under."""

    policies: Policies
    """As for `PUT /v1/policies`. A policy that is not named stays as it is stored; `null` leaves it out."""
    since: Time
    """Begin of the replay, at most 400 days ago. What was spent before it counts."""


class ReplayLineView(View):
    """What the policies would have done with the calls of the history."""

    refused: int
    """Calls that would have been refused."""
    asked: int
    """Calls that would have needed an approval."""
    waited: int
    """Calls that would have waited for open holds."""
    tasks_stopped: int
    """Tasks with a call that would have been refused or needed an approval."""
    delayed: int
    """Calls that would have been delayed."""
    delay_ms: int
    """Total of the delays in milliseconds."""
    saved_tokens: int
    """What the calls that would have been refused or needed an approval were charged."""
    saved_nano_usd: int
    eased: int
    """Calls that would have taken a step of a ladder."""
    eased_tokens: int
    """What they would have been charged less, as far as the ledger tells: a cheaper model uses as many tokens."""
    eased_nano_usd: int


class ReplayStepView(View):
    """What one step of the ladder of a scope would have done. A call with steps of several scopes counts on each."""

    step: int
    """Its number, from 1."""
    ratio: float
    calls: int
    """Calls that would have taken it, with the steps below that it leaves open."""
    unknown: int
    """Further calls that reach it, of which the ledger knows no model or no usage by kind of tokens: they are replayed
    as they were."""
    saved_tokens: int
    """What the calls that take it would have been charged less."""
    saved_nano_usd: int


class ReplayScopeView(ReplayLineView):
    """What the policy of one scope would have done. Of several that stop a call, the decisive one counts."""

    scope: str
    ladder: list[ReplayStepView]
    """The steps of its ladder that calls reach."""


class ReplayView(View):
    """The history under other policies."""

    calls: int
    """Calls that were replayed."""
    total: ReplayLineView
    scopes: list[ReplayScopeView]
    """The scopes that would have held up calls or had them take steps, those that save most first; at most 1,000."""
    not_known: list[str]
    """What the ledger cannot tell."""


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
