"""Database rows of a page of turns, from which `purser.activities.tasks.timeline` derives the steps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class Admission:
    """One ask for a hold under one key: a row of `calls` joined with its hold."""

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
    would: str = ""
    """How a policy that only records would have held up the call, and its scope: `refuse by session:s1`."""
    paced_ms: int = 0
    """How long the provider's pace delayed it."""
    ladder: Sequence[Mapping[str, Any]] = ()
    """The steps of ladders that it took; see `Call.ladder`."""
    rejected: str | None = None
    refusal: Mapping[str, Any] | None = None
    """Figures of the last answer that did not admit it."""
    capped: bool = False
    last: bool = False
    """Whether it is the agent's last call."""
    hold_id: int | None = None
    state: str | None = None
    """State of the hold: `none` while nothing was held, then `held`, `settled`, `released` or `expired`."""
    held_at: datetime | None = None
    """When the ask was admitted."""
    held_tokens: int = 0
    charged_tokens: int = 0
    charged_nano: int = 0
    ended_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Attempt:
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
    """Stable code of the failure."""
    failed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ApprovalWait:
    """The wait of a call for an approval."""

    key: str
    approval_id: str
    state: str
    since: datetime
    until: datetime | None = None
    """When the request was decided, or when the agent left; `None`: the agent is still waiting."""
    tokens: int = 0
    approver: str | None = None


@dataclass(frozen=True, slots=True)
class AgentRow:
    """An agent: when it was ready to begin, and how it ended."""

    agent_id: str
    status: str
    reason: str
    scope: str
    """The scope that refused it."""
    ended_at: datetime | None
    ready_at: datetime
    """When the task was submitted, or when the last of the agent's dependencies ended."""


@dataclass(frozen=True, slots=True)
class Compression:
    """A version of a summary that the task caused."""

    thread: str
    version: int
    agent_id: str
    """Agent whose turn paid for it; empty: none, because no model was used."""
    ended_at: datetime
    began_at: datetime | None
    tokens_before: int
    tokens_after: int
    method: str
    trigger: str


@dataclass(frozen=True, slots=True)
class TimelineRows:
    """All rows of the turns of one page."""

    admissions: Sequence[Admission] = ()
    attempts: Sequence[Attempt] = ()
    approval_waits: Sequence[ApprovalWait] = ()
    compressions: Sequence[Compression] = ()
    agents: Sequence[AgentRow] = ()
