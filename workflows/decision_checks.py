"""Checks the shape of an approval decision sent through Temporal. The ledger in Postgres checks its meaning."""

from dataclasses import asdict
from datetime import datetime

from purser.workflows.contract import ApprovalDecision

_MAX_ID = 128
_MAX_TEXT = 2_000
_REQUIRED = ("approval_id", "decision_id", "approver")
_IDS = (*_REQUIRED, "note_ref", "key_id", "signature")
_MAX_AMOUNT = 2**53 - 1


def malformed(decision: ApprovalDecision) -> str:
    """Returns what is wrong with a decision; empty if nothing is."""
    for name, value in asdict(decision).items():
        if not isinstance(value, str):
            continue
        least, most = int(name in _REQUIRED), _MAX_ID if name in _IDS else _MAX_TEXT
        if not (least <= len(value) <= most and value.isprintable()):
            return f"{name} is not valid: use {least} to {most} printable characters"
    if decision.decision not in ("approve", "deny"):
        return "decision is not valid: use 'approve' or 'deny'"
    for name in ("grant_tokens", "grant_nano_usd"):
        amount = getattr(decision, name)
        if amount is not None and not 0 <= amount <= _MAX_AMOUNT:
            return f"{name} is not valid: use a whole number from 0 to {_MAX_AMOUNT}"
    if decision.until is not None and not _is_timestamp(decision.until):
        return "until is not valid: use ISO 8601 with a time zone, for example 2026-11-20T18:00:00+00:00"
    return ""


def _is_timestamp(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False
