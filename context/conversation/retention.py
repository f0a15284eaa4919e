"""Retention of sessions: the policy of a tenant, and the tombstone of a deleted session."""

from dataclasses import dataclass
from datetime import date, datetime


@dataclass(frozen=True, slots=True)
class RetentionPolicy:
    """How long the sessions of a tenant are kept."""

    days: int | None = None
    """Whole days (UTC) after the day of a session's last append; `None` for ever."""
    version: int = 0
    """Number of changes so far; 0 if there was none."""
    changed_by: str | None = None
    changed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Tombstone:
    """Record of a deleted session: figures, no text."""

    session_id: str
    user_id: str | None
    messages: int
    tokens: int
    """Tokens of its messages in the encoding `o200k_base`."""
    summaries: int
    pins: int
    """Pins that were live when it was deleted."""
    created_at: datetime
    """When the session was created."""
    active_on: date
    """Day of its last append."""
    deleted_by: str
    reason: str
    """`request` or `retention`."""
    deleted_at: datetime
