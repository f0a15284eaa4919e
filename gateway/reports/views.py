"""Responses of the reports: ledger entries and usage."""

from datetime import datetime
from typing import Annotated, Self

from pydantic import Field

from purser.budget.policies.fields import Mode
from purser.budget.reports.entries import Entry, EntryKind, Figures
from purser.budget.reports.usage import By, UsageLine
from purser.wire.base import PageOf, View


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

    @classmethod
    def of(cls, figures: Figures) -> Self:
        parts = {name: getattr(figures, name) for name in MovedView.model_fields}
        units = ("tokens", "nano_usd")
        return cls(**{unit: MovedView(**{name: getattr(part, unit) for name, part in parts.items()}) for unit in units})


class EntryView(View):
    """One entry of the ledger: a change to one balance, and the balance after it."""

    entry_id: str
    at: datetime
    scope: str
    window_start: datetime | None
    """`null` for a lifetime."""
    seq: int
    """Sequence number of the entry in its scope and window, from 1 without gaps."""
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

    @classmethod
    def of(cls, entry: Entry) -> Self:
        plain = {name: getattr(entry, name) for name in cls.model_fields}
        return cls(
            **plain
            | {
                "entry_id": str(entry.entry_id),
                "scope": str(entry.scope),
                "moved": FiguresView.of(entry.moved),
                "after": FiguresView.of(entry.after),
                "path": list(entry.path),
            }
        )


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
    """Of these, the number whose model has no price: `nano_usd` does not include their cost."""
    presumed: PresumedView
    overrun: OverrunView

    @classmethod
    def of(cls, line: UsageLine) -> Self:
        return cls(
            id=line.id,
            tokens=ClassesView(**line.tokens),
            charged_tokens=line.charged.tokens,
            nano_usd=line.charged.nano_usd,
            attempts=line.attempts,
            unpriced_attempts=line.unpriced_attempts,
            presumed=PresumedView(
                attempts=line.presumed_attempts, tokens=line.presumed.tokens, nano_usd=line.presumed.nano_usd
            ),
            overrun=OverrunView(tokens=line.overrun.tokens, nano_usd=line.overrun.nano_usd),
        )


class UsageView(PageOf[UsageLineView]):
    """A page of a usage report. `from` and `to` are those of the report, including defaults."""

    by: By
    since: Annotated[datetime, Field(serialization_alias="from")]
    until: Annotated[datetime, Field(serialization_alias="to")]
