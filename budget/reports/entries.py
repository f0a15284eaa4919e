"""Ledger entries as reports return them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from purser.budget.gate import Amount
from purser.budget.policies.fields import Mode
from purser.budget.scopes import Scope
from purser.wire.enums import EntryKind as EntryKind


@dataclass(frozen=True, slots=True)
class Figures:
    """The change that an entry makes to a balance, or the balance after it."""

    spent: Amount
    held: Amount
    granted: Amount
    overrun: Amount


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the ledger: a change to one balance, and the balance after it."""

    entry_id: int
    at: datetime
    scope: Scope
    window_start: datetime | None
    """`None` for a lifetime and for a rolling window."""
    rolling: str | None
    """The length of a rolling window, such as `5h`; `None` for other windows."""
    seq: int
    """Sequence number of the entry in its scope and window, from 1 without gaps."""
    kind: EntryKind
    hold_id: str | None
    attempt: int | None
    ref: str | None
    """Id of the grant, or name of the actor, that caused it."""
    moved: Figures
    after: Figures
    limit_tokens: int | None
    """The limit at that time."""
    limit_nano_usd: int | None
    mode: Mode
    key: str | None
    """Key of the hold; the next three fields are the hold's too."""
    path: tuple[str, ...]
    task_id: str | None
    model: str | None


@dataclass(frozen=True, slots=True)
class EntryPage:
    """Entries of a tenant, newest first."""

    entries: tuple[Entry, ...]
    cursor: str | None
    """Cursor of the next page; `None` at the end of the list."""


def figures(row: Mapping[str, int], prefix: str = "") -> Figures:
    """Reads eight columns of a row: the balance, or with the prefix `d_` the change."""
    spent, held, granted, overrun = (
        Amount(row[f"{prefix}{part}_tokens"], row[f"{prefix}{part}_nano"])
        for part in ("spent", "held", "granted", "overrun")
    )
    return Figures(spent, held, granted, overrun)
