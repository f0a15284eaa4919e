"""Checks the shape of an approval decision sent through Temporal. The ledger in Postgres checks its meaning."""

from dataclasses import asdict, dataclass
from datetime import datetime

from purser.wire.limits import MAX_AMOUNT, MAX_DECISION_ID, MAX_TICKET_URL
from purser.workflows.contract import ApprovalDecision

_MAX_ID = 128
_REQUIRED = ("approval_id", "decision_id", "approver")
_IDS = ("approval_id", "approver", "note_ref", "key_id", "signature")


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bounds of a decision."""

    decision_id: int = MAX_DECISION_ID
    """Most characters of its id."""
    grant: int = 1
    """Least amount that it grants, if it names one."""


BOUNDS = Bounds()
"""Those of the ledger."""
FORMER = Bounds(decision_id=128, grant=0)
"""Those of earlier releases, by which tasks go on judging the decisions in their histories."""


def malformed(decision: ApprovalDecision, bounds: Bounds = BOUNDS) -> str:
    """Returns what is wrong with a decision; empty if nothing is."""
    longest = dict.fromkeys(_IDS, _MAX_ID) | {"decision_id": bounds.decision_id}
    for name, value in asdict(decision).items():
        if not isinstance(value, str):
            continue
        least, most = int(name in _REQUIRED), longest.get(name, MAX_TICKET_URL)
        if not (least <= len(value) <= most and value.isprintable()):
            return f"{name} is not valid: use {least} to {most} printable characters"
    if decision.decision not in ("approve", "deny"):
        return "decision is not valid: use 'approve' or 'deny'"
    for name in ("grant_tokens", "grant_nano_usd"):
        amount = getattr(decision, name)
        if amount is not None and not bounds.grant <= amount <= MAX_AMOUNT:
            return f"{name} is not valid: use a whole number from {bounds.grant} to {MAX_AMOUNT}"
    if decision.until is not None and not _is_timestamp(decision.until):
        return "until is not valid: use ISO 8601 with a time zone, for example 2026-11-20T18:00:00+00:00"
    return ""


def _is_timestamp(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False
