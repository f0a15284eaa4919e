"""Approval rules: the state of a request after a decision, or after a deadline without one."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from purser.budget.approvals import (
    ApprovalRequest,
    ApprovalState,
    Approver,
    Choice,
    DecisionRequest,
    Identity,
    PastDecision,
)
from purser.budget.errors import DecisionRefused, InvalidRequest
from purser.budget.gate import NOTHING, Amount
from purser.budget.policies.fields import DEPUTY, OnExpiry


@dataclass(frozen=True, slots=True)
class Outcome:
    """The state of a request after a decision, and what is granted."""

    state: ApprovalState
    amount: Amount = NOTHING
    """Amount to which the decision agrees."""
    grant: Amount = NOTHING
    """Amount that is granted: zero unless the state is `approved`."""
    until: datetime | None = None
    decisions_needed: int = 0


def judge(
    request: ApprovalRequest,
    decision: DecisionRequest,
    actor: Approver,
    now: datetime,
    *,
    alone: Amount = NOTHING,
    trust_temporal_identity: bool = False,
) -> Outcome:
    """Applies the request's rules to a decision.

    A denial is final. So is an approval, unless it grants more than one person may: then a second person has to
    approve, and the grant is the amount to which both agreed.

    Args:
        request: the request.
        decision: the decision.
        actor: who decides.
        now: the current time.
        alone: what the actor has granted in the window of the request without a second person, and is in force.
        trust_temporal_identity: whether decisions under asserted names count.

    Raises:
        DecisionRefused: the rules forbid the decision.
        InvalidRequest: `until`, the end of the grant, is in the past.
    """
    _check_actor(request, actor, trusted=trust_temporal_identity)
    if decision.choice is Choice.DENY:
        return Outcome(ApprovalState.DENIED)
    if decision.until is not None and decision.until <= now:
        raise InvalidRequest(f"until {decision.until.isoformat()!r} is not in the future: name a later time")
    amount = request.shortage if decision.amount is None else decision.amount
    if not request.needs_two(amount, alone):
        return Outcome(ApprovalState.APPROVED, amount, amount, decision.until)
    agreed = [past for past in request.agreed(now) if past.identity is not Identity.ASSERTED or trust_temporal_identity]
    if any(past.approver == actor.name for past in agreed):
        raise DecisionRefused(
            f"{actor.name!r} has approved request {request.approval_id!r} already: another person has to approve too",
            reason="same_person",
        )
    if not agreed:
        return Outcome(ApprovalState.PENDING, amount, until=decision.until, decisions_needed=1)
    common = in_common(amount, agreed)
    if common == NOTHING:
        raise InvalidRequest(
            f"the approvals have no amount in common: {agreed[0].approver!r} agreed to "
            f"{agreed[0].amount.tokens} tokens and {agreed[0].amount.nano_usd} nano-dollars, grant a part of it"
        )
    ends = [past.until for past in agreed] + [decision.until]
    until = min((end for end in ends if end is not None), default=None)
    return Outcome(ApprovalState.APPROVED, amount, common, until)


def in_common(amount: Amount, agreed: Iterable[PastDecision]) -> Amount:
    """The part of an amount, in each unit, to which all these decisions agreed too."""
    amounts = [amount, *(past.amount for past in agreed)]
    return Amount(min(one.tokens for one in amounts), min(one.nano_usd for one in amounts))


def expire(request: ApprovalRequest, alone: Amount = NOTHING, *, tightened: bool = False) -> Outcome:
    """Applies the request's rules when its deadline passes without a decision.

    The shortage, but at most what was asked, is granted if `on_expiry` is `grant`, one person could have granted it
    after `alone`, which expiries have granted in this window, and no policy was `tightened` meanwhile: an expiry never
    counts as two approvals, and undoes no change of an admin. If more is short because others spent meanwhile, the
    calls that still do not fit open a new request.
    """
    short, asked = request.shortage, request.asked
    grant = Amount(min(short.tokens, asked.tokens), min(short.nano_usd, asked.nano_usd))
    may_grant = request.rules.on_expiry is OnExpiry.GRANT and not tightened
    if may_grant and grant != NOTHING and not request.needs_two(grant, alone):
        return Outcome(ApprovalState.APPROVED, grant, grant)
    return Outcome(ApprovalState.EXPIRED)


def closed(approval_id: str, state: ApprovalState) -> DecisionRefused:
    """Why nothing is left to decide about a request that is not pending."""
    why = " already"
    if state is ApprovalState.WITHDRAWN:
        why = ", because its calls fit by now, ask again under a changed policy or in a new window, or wait no more"
    return DecisionRefused(f"request {approval_id!r} is {state}{why}: nothing is left to decide", reason="closed")


def _check_actor(request: ApprovalRequest, actor: Approver, *, trusted: bool) -> None:
    rules, name = request.rules, request.approval_id
    if request.state is not ApprovalState.PENDING:
        raise closed(name, request.state)
    if actor.identity is Identity.ASSERTED and not trusted:
        raise DecisionRefused(
            f"nothing proves that {actor.name!r} decides request {name!r}: sign the decision with the approver's key, "
            "or accept names that are only asserted with PURSER_TRUST_TEMPORAL_IDENTITY=true",
            reason="unsigned",
        )
    if not set(actor.roles) & set(rules.roles) and not (DEPUTY in actor.roles and request.escalated_at):
        raise DecisionRefused(
            f"{actor.name!r} may not decide request {name!r}: it takes one of the roles {', '.join(rules.roles)}"
            + (", and a deputy may decide only after an escalation" if DEPUTY in actor.roles else ""),
            reason="role",
        )
    if rules.not_submitter and actor.name in request.submitters:
        raise DecisionRefused(
            f"{actor.name!r} submitted a task that waits for request {name!r}: another person has to decide",
            reason="submitter",
        )
