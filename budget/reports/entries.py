"""Entries of the ledger, as people and programs read them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from purser.budget.decisions import Amount
from purser.budget.policies import Mode
from purser.budget.scopes import Scope


class EntryKind(StrEnum):
    """What moved a balance."""

    HOLD = "hold"
    TOP_UP = "top_up"
    SETTLE = "settle"
    OVERRUN = "overrun"
    PRESUMED = "presumed"
    LATE = "late"
    CORRECTION = "correction"
    RELEASE = "release"
    EXPIRE = "expire"
    GRANT = "grant"
    GRANT_ENDED = "grant_ended"
    LIMIT_RAISED = "limit_raised"
    LIMIT_LOWERED = "limit_lowered"
    MODE_CHANGED = "mode_changed"


@dataclass(frozen=True, slots=True)
class Figures:
    """What an entry moved, or what a balance stood at after it."""

    spent: Amount
    held: Amount
    granted: Amount
    overrun: Amount


@dataclass(frozen=True, slots=True)
class Entry:
    """One fact of the ledger: what moved one balance, and the balance after."""

    entry_id: int
    at: datetime
    scope: Scope
    window_start: datetime | None
    """`None` for a lifetime."""
    seq: int
    """Number of the entry in its scope and window, from 1 without a gap."""
    kind: EntryKind
    hold_id: str | None
    attempt: int | None
    ref: str | None
    """Grant or person behind it."""
    moved: Figures
    after: Figures
    limit_tokens: int | None
    """As it was then."""
    limit_nano_usd: int | None
    mode: Mode
    key: str | None
    """Of the hold, like the next three."""
    path: tuple[str, ...]
    task_id: str | None
    model: str | None


@dataclass(frozen=True, slots=True)
class EntryPage:
    """Entries of a tenant, newest first."""

    entries: tuple[Entry, ...]
    cursor: str | None
    """Continues the list; `None` at its end."""


def figures(row: Mapping[str, int], prefix: str = "") -> Figures:
    """Reads eight columns of a row: those of the balance, or with `d_` what was moved."""
    spent, held, granted, overrun = (
        Amount(row[f"{prefix}{part}_tokens"], row[f"{prefix}{part}_nano"])
        for part in ("spent", "held", "granted", "overrun")
    )
    return Figures(spent, held, granted, overrun)
