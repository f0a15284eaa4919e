"""Holds of callers without a workflow: limits their waiting, and requests approvals for them."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

from purser.budget.approvals import ApprovalState
from purser.budget.climbs import Climb, StepReached
from purser.budget.errors import KeyReused
from purser.budget.gate import GateAnswer, Verdict
from purser.budget.holds import HoldAnswer, HoldRequest
from purser.budget.postgres.connections.pools import Connection, connected, retrying
from purser.gateway.access.roles import Principal
from purser.gateway.services import Services

_TRIES = 3
"""Most asks per request: an approval may be granted between the gate's verdict and the approval request."""


async def ask_gate(
    request: HoldRequest,
    caller: Principal,
    use: Services,
    climb: Climb | None = None,
    waits_as: Callable[[], Awaitable[str]] | None = None,
) -> tuple[HoldAnswer, str]:
    """Asks the gate, and requests an approval if the verdict is `ask`.

    Args:
        request, caller: the ask.
        use: the gateway's services.
        climb: the steps of ladders that it has taken, if it is to take all that it reaches.
        waits_as: finds the key under which it waits for a decision; `None`: that of the ask.

    Returns:
        The answer, and the id of the approval request that is pending or was denied, or an empty string.

    Raises:
        StepReached: the ask reaches steps beyond `climb`. Nothing is held or written.
        KeyReused, HoldClosed, LedgerUnavailable
    """
    if climb is not None and await use.policies.have_ladders(caller.tenant):
        answer = await _held_or_undone(request, caller, use, climb)
    else:
        answer = await _ask(request, caller, use)
    approval_id = ""
    for _ in range(_TRIES):
        if answer.gate.verdict is not Verdict.ASK:
            return answer, ""
        # Requests of a scope wait for each other in Postgres: those of one key must not take all connections.
        async with use.asking.of(caller.key_id):
            ticket = await use.approvals.request(
                caller.tenant,
                key=await waits_as() if waits_as is not None else request.key,
                scope=answer.gate.decisive.scope,
                path=request.path,
                labels=request.all_labels,
                ask=request.ask,
                submitter=caller.name,
                submitted_by=caller.name,
            )
        approval_id = ticket.approval_id
        if ticket.state in (ApprovalState.DENIED, ApprovalState.EXPIRED):
            return replace(answer, gate=_refused(answer.gate, ticket.state)), approval_id
        if ticket.state == ApprovalState.PENDING:
            break
        answer = await _ask(request, caller, use)
    return answer, approval_id


async def _held_or_undone(request: HoldRequest, caller: Principal, use: Services, climb: Climb) -> HoldAnswer:
    async def step() -> HoldAnswer:
        async with connected(use.pool, None) as own, own.transaction():
            answer = await _hold(request, caller, use, own)
            if not answer.repeated and climb.lacks(answer.gate):
                raise StepReached(answer.gate)
            return answer

    return await retrying(step)


async def _ask(request: HoldRequest, caller: Principal, use: Services) -> HoldAnswer:
    """Asks the gate. If the key has waited for open holds for `max_wait`, the mode applies at once."""
    answer = await _hold(request, caller, use)
    if answer.gate.verdict is not Verdict.WAIT:
        return answer
    if await use.holds.asking_for(caller.tenant, request.key) < use.max_wait:
        return answer
    return await _hold(replace(request, patient=False), caller, use)


async def _hold(
    request: HoldRequest, caller: Principal, use: Services, connection: Connection | None = None
) -> HoldAnswer:
    """Asks the gate, also with the payload to which keys were bound until release 0.1.0."""
    try:
        return await use.ledger.hold(caller.tenant, request, connection)
    except KeyReused:
        former = replace(request, sent=None, derived=False)
        if former.digest == request.digest:
            raise
        return await use.ledger.hold(caller.tenant, former, connection)


def _refused(answer: GateAnswer, state: str) -> GateAnswer:
    """The same figures with the verdict `refuse`, after a denial or an expiry."""
    short = answer.decisive
    scopes = tuple(
        replace(scope, verdict=Verdict.REFUSE, reason=state) if scope is short else scope for scope in answer.scopes
    )
    return replace(answer, verdict=Verdict.REFUSE, scopes=scopes)
