"""Answers of `/v1/usage` and `/v1/ledger`."""

from datetime import datetime

from pydantic import Field

from .base import PageOf, View
from .enums import By, EntryKind, Mode

COMPLETE_AFTER = "Purser-Complete-After"
"""Header of an answer about a time range: retention has deleted events of the ledger until then."""


class MovedView(View):
    """Figures of a balance in one unit: the change, or the balance after it."""

    spent: int
    held: int
    granted: int
    overrun: int


class FiguresView(View):
    """Figures of a balance."""

    tokens: MovedView
    nano_usd: MovedView


class EntryView(View):
    """One entry of the ledger: a change to one balance, and the balance after it."""

    entry_id: str
    at: datetime
    scope: str
    window_start: datetime | None
    """`null` for a lifetime and for a rolling window."""
    rolling: str | None = None
    """The length of a rolling window, such as `5h` or `7d`; `null` for other windows."""
    seq: int
    """Sequence number of the entry in its scope and window (`window_start`, `rolling`), from 1 without gaps."""
    kind: EntryKind
    hold_id: str | None
    attempt: int | None
    ref: str | None
    """Id of the grant, or name of the actor, that caused it."""
    moved: FiguresView
    after: FiguresView
    limit_tokens: int | None
    """The limit at that time."""
    limit_nano_usd: int | None
    mode: Mode
    key: str | None
    """Key of the hold; the next three fields are the hold's too."""
    path: list[str]
    task_id: str | None
    model: str | None


class ClassesView(View):
    """Tokens by class."""

    input: int
    """Neither read from a cache nor written to one."""
    cache_read: int
    cache_write_5m: int
    cache_write_1h: int
    output: int
    """Includes reasoning."""
    reasoning: int
    """Part of `output`."""
    unsplit: int
    """Tokens of reports that state only a total."""


class PresumedView(View):
    """Attempts that started and never reported, and their charges.

    Negative if late reports replaced more than were presumed.
    """

    attempts: int
    tokens: int
    nano_usd: int


class OverrunView(View):
    """The part of the charges that exceeds what was held."""

    tokens: int
    nano_usd: int


class UsageLineView(View):
    """Charges of one tenant, user, session, task, agent, model or day."""

    id: str
    """Id of the scope without its kind, the model (empty if none was named), or the day as `YYYY-MM-DD`."""
    tokens: ClassesView
    charged_tokens: int
    """Sum of `input`, `cache_read`, `cache_write_5m`, `cache_write_1h`, `output`, `unsplit` and `presumed.tokens`."""
    nano_usd: int
    attempts: int
    """Number of attempts that were charged, even if the charge is 0."""
    unpriced_attempts: int
    """Those of them whose model has no price or is not named: `nano_usd` has what their hold requested instead."""
    presumed: PresumedView
    overrun: OverrunView


class UsageView(PageOf[UsageLineView]):
    """A page of a usage report. `from` and `to` are those of the report, including defaults."""

    by: By
    from_: datetime = Field(alias="from")
    to: datetime


EntryPage = PageOf[EntryView]
