"""Answers of the reports: entries of the ledger and usage."""

from datetime import datetime
from typing import Annotated, Self

from pydantic import Field

from purser.budget.policies import Mode
from purser.budget.reports.entries import Entry, EntryKind, Figures
from purser.budget.reports.usage import By, UsageLine
from purser.gateway.http.pagination import PageOf
from purser.gateway.http.views import View


class MovedView(View):
    """Figures of a balance in one unit: what was moved, or what was there after."""

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
    """One fact of the ledger: what moved one balance, and the balance after."""

    entry_id: str
    at: datetime
    scope: str
    window_start: datetime | None
    """`null` for a lifetime."""
    seq: int
    """Number of the entry in its scope and window, from 1 without a gap."""
    kind: EntryKind
    hold_id: str | None
    attempt: int | None
    ref: str | None
    """Grant or person behind it."""
    moved: FiguresView
    after: FiguresView
    limit_tokens: int | None
    """As it was then."""
    limit_nano_usd: int | None
    mode: Mode
    key: str | None
    """Of the hold, like the next three."""
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
    """Reasoning included."""
    reasoning: int
    """Part of `output`."""
    unsplit: int
    """Of reports that tell a total only."""


class PresumedView(View):
    """Attempts that started and never reported, and what they were charged.

    Less than 0 where more were replaced by late reports than came up.
    """

    attempts: int
    tokens: int
    nano_usd: int


class OverrunView(View):
    """The part of the charges beyond what was held."""

    tokens: int
    nano_usd: int


class UsageLineView(View):
    """What was charged to one user, session, task, agent or model."""

    id: str
    """Of the scope, without its kind; the model, or empty where nobody told it."""
    tokens: ClassesView
    charged_tokens: int
    """`input`, `cache_read`, `cache_write_5m`, `cache_write_1h`, `output`, `unsplit` and `presumed.tokens` together."""
    nano_usd: int
    attempts: int
    """Requests that were charged, for nothing too."""
    unpriced_attempts: int
    """Of these, reports whose model has no price: `nano_usd` lacks what they cost."""
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
    """A part of a usage report. `from` and `to` are those of the report, asked for or not."""

    by: By
    since: Annotated[datetime, Field(serialization_alias="from")]
    until: Annotated[datetime, Field(serialization_alias="to")]
