"""Activities of approvals: ask a person, stop asking, and record what a person said through Temporal."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from temporalio import activity

from budget.approvals import Actor, Choice, Identity
from budget.decisions import Amount
from budget.errors import DecisionConflict, DecisionRefused, InvalidRequest, NotFound
from budget.postgres.approvals import Approvals
from budget.scopes import Path, Scope
from workflows.contract import (
    ActivityName,
    AgentRef,
    ApprovalInput,
    ApprovalTicket,
    DecisionInput,
    DecisionResult,
    ReleaseInput,
)

TEMPORAL_ROLES = ("approver",)
"""Whoever may signal our workflows may approve; a policy that asks for another role is out of their reach."""


@dataclass(frozen=True)
class CallToApprove:
    """What an approval request needs to know of a call."""

    path: Path
    ask: Amount
    submitter: str | None
    """Whom the task names."""
    submitted_by: str | None
    """Name of the key that submitted it."""


CallOf = Callable[[AgentRef, str], Awaitable[CallToApprove]]
"""The stored call of an agent under a key."""


@dataclass(frozen=True)
class ApprovalActivities:
    """Approvals as activities; Postgres decides."""

    approvals: Approvals
    call_of: CallOf
    poke: Callable[[], None]
    """Called when a workflow may have to be woken."""

    @activity.defn(name=ActivityName.REQUEST_APPROVAL)
    async def request_approval(self, request: ApprovalInput) -> ApprovalTicket:
        """Opens or joins the request of the scope that is short."""
        call = await self.call_of(request.agent, request.key)
        ticket = await self.approvals.request(
            request.agent.tenant,
            key=request.key,
            scope=Scope.parse(request.scope),
            path=call.path,
            ask=call.ask,
            agent_id=request.agent.agent_id,
            submitter=call.submitter,
            submitted_by=call.submitted_by,
            workflow_id=request.workflow_id,
        )
        return ApprovalTicket(ticket.approval_id, ticket.state, ticket.deadline)

    @activity.defn(name=ActivityName.WITHDRAW_APPROVAL)
    async def withdraw_approval(self, request: ReleaseInput) -> None:
        """The agent stops waiting."""
        await self.approvals.withdraw(request.tenant, request.key)

    @activity.defn(name=ActivityName.RECORD_DECISION)
    async def record_decision(self, request: DecisionInput) -> DecisionResult:
        """Records a decision under its self-asserted name; what the rules refuse comes back as a stable code."""
        wanted = request.decision
        try:
            decided = await self.approvals.record_decision(
                request.tenant,
                wanted.approval_id,
                wanted.decision_id,
                _choice(wanted.decision),
                Actor(wanted.approver, TEMPORAL_ROLES, Identity.ASSERTED),
                grant_tokens=wanted.grant_tokens,
                grant_nano_usd=wanted.grant_nano_usd,
                until=wanted.until,
                note=wanted.note_ref or None,
            )
        except NotFound:
            return DecisionResult(wanted.approval_id, "", error="not_found")
        except DecisionRefused as refused:
            return await self._refused(request, refused.reason)
        except DecisionConflict:
            return await self._refused(request, "conflict")
        except InvalidRequest:
            return await self._refused(request, "invalid")
        self.poke()
        return DecisionResult(wanted.approval_id, decided.state, decided.decisions_needed)

    async def _refused(self, request: DecisionInput, error: str) -> DecisionResult:
        try:
            standing = await self.approvals.get(request.tenant, request.decision.approval_id)
        except NotFound:
            return DecisionResult(request.decision.approval_id, "", error="not_found")
        return DecisionResult(standing.approval_id, standing.state, standing.decisions_needed, error)


def _choice(name: str) -> Choice:
    try:
        return Choice(name)
    except ValueError:
        raise InvalidRequest(f"decision {name[:40]!r} is not valid: use approve or deny") from None
