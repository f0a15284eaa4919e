"""Asks of callers without a workflow: patience that ends, and people who decide."""

from dataclasses import replace

from purser.budget.approvals import ApprovalState
from purser.budget.decisions import Decision, Verdict
from purser.budget.holds import HoldAnswer, HoldRequest
from purser.gateway.access.roles import Principal
from purser.gateway.services import Services

_TRIES = 3
"""Asks of one request at most: an approval may come between the gate's verdict and the request to approve."""


async def decided(request: HoldRequest, caller: Principal, use: Services) -> tuple[HoldAnswer, str]:
    """The answer to an ask, and the id of the approval request that it waits for or failed by, or an empty string.

    Raises:
        KeyReused, HoldClosed, LedgerUnavailable
    """
    answer, approval_id = await _ask(request, caller, use), ""
    for _ in range(_TRIES):
        if answer.decision.verdict is not Verdict.ASK:
            return answer, ""
        ticket = await use.approvals.request(
            caller.tenant,
            key=request.key,
            scope=answer.decision.decisive.scope,
            path=request.path,
            ask=request.ask,
            submitter=caller.name,
            submitted_by=caller.name,
        )
        approval_id = ticket.approval_id
        if ticket.state in (ApprovalState.DENIED, ApprovalState.EXPIRED):
            return replace(answer, decision=_refused(answer.decision, ticket.state)), approval_id
        if ticket.state == ApprovalState.PENDING:
            break
        answer = await _ask(request, caller, use)
    return answer, approval_id


async def _ask(request: HoldRequest, caller: Principal, use: Services) -> HoldAnswer:
    """Asks the gate. Who has waited for open holds long enough gets what the mode decides."""
    answer = await use.ledger.hold(caller.tenant, request)
    if answer.decision.verdict is not Verdict.WAIT:
        return answer
    if await use.holds.asking_for(caller.tenant, request.key) < use.max_wait:
        return answer
    return await use.ledger.hold(caller.tenant, replace(request, patient=False))


def _refused(decision: Decision, state: str) -> Decision:
    """The same figures, with the verdict that a person or a deadline gave."""
    short = decision.decisive
    scopes = tuple(
        replace(scope, verdict=Verdict.REFUSE, reason=state) if scope is short else scope for scope in decision.scopes
    )
    return replace(decision, verdict=Verdict.REFUSE, scopes=scopes)
