"""Names of strategies in commands, task files and the HTTP API."""

from enum import StrEnum


class StrategyName(StrEnum):
    """How a window is cut when a conversation does not fit."""

    SLIDING_WINDOW = "sliding_window"
    """The newest rounds; the rest is dropped."""
    TOKEN_TRUNCATION = "token_truncation"
    """The newest groups that fit; the rest is dropped."""
    SMART_TRUNCATION = "smart_truncation"
    """Fewer rounds the longer the conversation is; the rest is dropped."""
    SUMMARY = "summary"
    """Recents, and a summary of everything before them."""
    THREE_PART = "three_part"
    """Primers, a summary of the middle, recents."""
    HYBRID = "hybrid"
    """`three_part`, with room for memory search results."""
    AUTO = "auto"
    """One of the others, by size, frequency and preference."""
