"""Search results of memory."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class Via(StrEnum):
    """Which search found a message."""

    LEXICAL = "lexical"
    """Found by its words, or those of its neighbours."""
    VECTOR = "vector"
    """Found by its embedding."""
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class Found:
    """A stored message that matches a query."""

    session_id: str
    seq: int
    thread: str
    """Empty for the session's own conversation, else `{task_id}/{agent_id}`."""
    role: str
    """`user` or `assistant`."""
    name: str | None
    """Name of the speaker, where several share a role; in the thread of an agent, that of the agent."""
    text: str
    created_at: datetime
    score: float
    """Comparable within one search only; higher is better."""
    via: Via


@dataclass(frozen=True, slots=True)
class Results:
    """The results of a search."""

    found: list[Found] = field(default_factory=list)
    """In time order."""
    pending: int = 0
    """Messages that were not searched because they are not indexed yet: searching again finds them."""
