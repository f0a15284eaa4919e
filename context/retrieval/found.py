"""What a search returns."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Via(StrEnum):
    """How a message was found."""

    LEXICAL = "lexical"
    """By its words, or those of its neighbours."""
    VECTOR = "vector"
    """By its embedding."""
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class Found:
    """A stored message that answers a query."""

    session_id: str
    seq: int
    thread: str
    """Empty for the session's own conversation, else `{task_id}/{agent_id}`."""
    role: str
    """`user` or `assistant`."""
    name: str | None
    """Who speaks, where several share a role."""
    text: str
    created_at: datetime
    score: float
    """Compares within one search only; higher is better."""
    via: Via
