"""The activities of approvals: `request_approval` opens a request, `record_decision` records a decision."""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime

from temporalio import activity

from purser.activities.tasks.signatures import SignerOf, is_signed_with, no_signer
from purser.budget.approvals import Approver, Choice, DecisionRequest, Identity
from purser.budget.errors import DecisionConflict, DecisionRefused, InvalidRequest, NotFound
from purser.budget.gate import Amount
from purser.budget.postgres.approvals.approvals import Approvals
from purser.budget.scopes import Path, Scope
from purser.workflows.contract import (
    ActivityName,
    ApprovalDecision,
    ApprovalInput,
    ApprovalTicket,
    DecisionInput,
    DecisionResult,
)

_log = logging.getLogger(__name__)
TEMPORAL_ROLES = ("approver",)
"""Roles of an unsigned decision, if it is accepted at all: a client that may signal the workflows may approve."""


@dataclass(frozen=True)
class CallToApprove:
    """The facts of a call that an approval request needs."""

    path: Path
    labels: tuple[Scope, ...]
    ask: Amount
    submitter: str | None
    """Submitter that the task names."""
    submitted_by: str | None
    """Name of the key that submitted it."""
    vouched: bool
    """Whether that key may act for others, so that `submitter` is trusted."""


CallOf = Callable[[ApprovalInput], Awaitable[CallToApprove]]
"""Finds the call of a model or a tool that waits."""


@dataclass(frozen=True)
class ApprovalActivities:
    """The activities of approvals; the rules are applied in Postgres."""

    approvals: Approvals
    call_of: CallOf
    poke: Callable[[], None]
    """Called when a workflow may need to be woken."""
    signer_of: SignerOf = no_signer
    """Finds the key that signed a decision."""

    @activity.defn(name=ActivityName.REQUEST_APPROVAL)
    async def request_approval(self, request: ApprovalInput) -> ApprovalTicket:
        """Opens the approval request of the short scope, or joins the pending one."""
        call = await self.call_of(request)
        ticket = await self.approvals.request(
            request.agent.tenant,
            key=request.key,
            scope=Scope.stored(request.scope),
            path=call.path,
            labels=call.labels,
            ask=call.ask,
            agent_id=request.agent.agent_id,
            submitter=call.submitter,
            submitted_by=call.submitted_by,
            vouched=call.vouched,
            workflow_id=request.workflow_id,
        )
        return ApprovalTicket(ticket.approval_id, ticket.state, ticket.deadline)

    @activity.defn(name=ActivityName.RECORD_DECISION)
    async def record_decision(self, request: DecisionInput) -> DecisionResult:
        """Records a decision in the name of its signer; returns a stable code if the rules refuse it."""
        wanted = request.decision
        if not wanted.approval_id.isprintable():
            return _unknown(wanted.approval_id)
        try:
            actor = await self._actor(request.tenant, wanted)
            decided = await self.approvals.record_decision(
                request.tenant,
                _decision_request(wanted),
                actor,
            )
        except NotFound:
            return _unknown(wanted.approval_id)
        except DecisionRefused as refused:
            return await self._refused(request, refused.reason, refused)
        except DecisionConflict as conflict:
            return await self._refused(request, "conflict", conflict)
        except InvalidRequest as invalid:
            return await self._refused(request, "invalid", invalid)
        self.poke()
        return DecisionResult(wanted.approval_id, decided.state, decided.decisions_needed)

    async def _actor(self, tenant: str, decision: ApprovalDecision) -> Approver:
        """Returns the approver; raises `DecisionRefused` if the signature proves none."""
        if decision.key_id is None and decision.signature is None:
            if not decision.approver.isprintable():
                raise InvalidRequest("approver is not valid: use printable characters")
            return Approver(decision.approver, None, TEMPORAL_ROLES, Identity.ASSERTED)
        key_id = decision.key_id or ""
        signer = await self.signer_of(tenant, key_id) if key_id.isprintable() else None
        if signer is None or not is_signed_with(decision, signer.digest):
            # One answer for every cause, so that it does not reveal which keys exist.
            raise DecisionRefused(
                "the signature matches no live key of this tenant: sign with a key that is neither revoked nor expired",
                reason="signature",
            )
        return Approver(signer.name, key_id, signer.roles)

    async def _refused(self, request: DecisionInput, error: str, why: Exception) -> DecisionResult:
        _log.warning("a decision through Temporal was refused: %s", error)
        try:
            current = await self.approvals.get(request.tenant, request.decision.approval_id)
        except NotFound:
            return _unknown(request.decision.approval_id)
        needed = current.decisions_needed(datetime.now(UTC))
        return DecisionResult(current.approval_id, current.state, needed, error, str(why))


def _unknown(approval_id: str) -> DecisionResult:
    message = "this tenant has no approval request with this id"
    return DecisionResult(approval_id, "", error="not_found", message=message)


def _decision_request(sent: ApprovalDecision) -> DecisionRequest:
    """Converts the wire type; fields with the same name mean the same."""
    named = {field.name for field in fields(DecisionRequest)}
    same = {name: value for name, value in asdict(sent).items() if name in named}
    return DecisionRequest(
        **same | {"choice": _choice(sent.decision), "until": _moment(sent.until), "note": sent.note_ref or None}
    )


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise InvalidRequest(f"until {text[:40]!r} is not valid: use ISO 8601 with a time zone") from None


def _choice(name: str) -> Choice:
    try:
        return Choice(name)
    except ValueError:
        raise InvalidRequest(f"decision {name[:40]!r} is not valid: use approve or deny") from None
