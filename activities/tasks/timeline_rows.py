"""What the tables hold of a page of turns: the rows that `purser.activities.tasks.timeline` folds into steps."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Admission:
    """One hold of a turn, asked for under one key: a row of `calls` with what belongs to it."""

    key: str
    agent_id: str
    turn: int
    model: str
    asked_at: datetime
    asked_tokens: int
    delay_ms: int = 0
    slowed_by: str = ""
    """The scope that caused the delay."""
    slowed_ratio: float | None = None
    """Share of that scope that was used, this call included."""
    rejected: str | None = None
    capped: bool = False
    hold_id: int | None = None
    state: str | None = None
    """Of the hold: `none` while nothing was held, then `held`, `settled`, `released` or `expired`."""
    held_at: datetime | None = None
    """When it was admitted."""
    held_tokens: int = 0
    charged_tokens: int = 0
    charged_nano: int = 0
    ended_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Try:
    """One attempt at the provider."""

    hold_id: int
    attempt: int
    state: str
    """`started`, `presumed` or `reported`."""
    tokens: int
    nano_usd: int
    started_at: datetime
    reported_at: datetime | None = None
    late: bool = False
    failure: str | None = None
    """Stable code of why it failed."""
    failed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Asking:
    """A wait for a person."""

    key: str
    approval_id: str
    state: str
    since: datetime
    until: datetime | None = None
    """When it was decided, or when the agent left; `None`: it still waits."""
    tokens: int = 0
    approver: str | None = None


@dataclass(frozen=True, slots=True)
class Started:
    """An agent: since when it could begin, and how it ended."""

    agent_id: str
    status: str
    reason: str
    scope: str
    """The scope that refused it."""
    ended_at: datetime | None
    ready_at: datetime
    """When the task was submitted, or the last agent ended that this one depends on."""


@dataclass(frozen=True, slots=True)
class Compression:
    """A version of a summary that the task caused."""

    thread: str
    version: int
    agent_id: str
    """Whose turn paid for it; empty: nobody's, it was made without a model."""
    ended_at: datetime
    began_at: datetime | None
    tokens_before: int
    tokens_after: int
    method: str
    trigger: str


@dataclass(frozen=True, slots=True)
class Rows:
    """What the store found of the turns of one page."""

    admissions: Sequence[Admission] = ()
    tries: Sequence[Try] = ()
    askings: Sequence[Asking] = ()
    compressions: Sequence[Compression] = ()
    agents: Sequence[Started] = ()
