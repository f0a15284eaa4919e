"""The shape of a decision that comes through Temporal. What it means, Postgres decides."""

from workflows.contract import ApprovalDecision

_MAX_ID = 128
_MAX_AMOUNT = 2**53 - 1


def malformed(decision: ApprovalDecision) -> str:
    """What is wrong with a decision, or nothing."""
    for name in ("approval_id", "decision_id", "approver"):
        if not 1 <= len(getattr(decision, name)) <= _MAX_ID:
            return f"{name} is not valid: use 1 to {_MAX_ID} characters"
    if decision.decision not in ("approve", "deny"):
        return "decision is not valid: use 'approve' or 'deny'"
    for name in ("grant_tokens", "grant_nano_usd"):
        amount = getattr(decision, name)
        if amount is not None and not 0 <= amount <= _MAX_AMOUNT:
            return f"{name} is not valid: use a whole number from 0 to {_MAX_AMOUNT}"
    if decision.until is not None and decision.until.tzinfo is None:
        return "until is not valid: name its time zone, for example 2026-11-20T18:00:00+00:00"
    return ""
