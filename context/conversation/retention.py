"""How long sessions are kept, and what is left of one that was deleted."""

from dataclasses import dataclass
from datetime import date, datetime


@dataclass(frozen=True, slots=True)
class RetentionPolicy:
    """How long the sessions of a tenant are kept."""

    days: int | None = None
    """Whole days (UTC) after the day of a session's last append; `None`: for ever."""
    version: int = 0
    """Counts the changes; 0: there never was one."""
    changed_by: str | None = None
    changed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Tombstone:
    """What is left of a deleted session: figures, no text."""

    session_id: str
    user_id: str | None
    messages: int
    tokens: int
    """Of its messages, by the counter of `o200k_base`."""
    summaries: int
    pins: int
    """That held when it was deleted."""
    created_at: datetime
    """Of the session."""
    active_on: date
    """Day of its last append."""
    deleted_by: str
    reason: str
    """`request` or `retention`."""
    deleted_at: datetime
