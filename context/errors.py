"""Errors of context management.

ContextError
├── InvalidMessage      a message is malformed; nothing was stored
├── InvalidSettings     a context setting is out of range
├── OriginReused        an append repeats an origin with other messages
├── MessageNotFound     no such message in this session
├── InvalidPreferences  personal settings are malformed or too long; nothing was stored
├── SessionNotFound     no such session of this tenant
├── SessionDeleted      the session was deleted, and its id is never used again
├── SessionBusy         a task or compression of the session still runs, so it cannot be deleted now
├── OtherUser           the session belongs to another user
├── PinsTooLarge        the pins of a session would exceed their budget; nothing was stored
├── RedactionFailed     a text could not be redacted, so it was withheld
└── WindowTooSmall      the required messages exceed the budget of the window
"""

from collections.abc import Mapping
from typing import Any


class ContextError(Exception):
    """Root of every error that this package raises on purpose. Messages never repeat conversation text."""


class InvalidMessage(ContextError, ValueError):
    """A message is malformed. The text names its index, the field and the remedy; nothing was stored."""


class InvalidSettings(ContextError, ValueError):
    """A context setting is out of range."""


class OriginReused(ContextError):
    """The origin of an append was already used for other messages."""


class MessageNotFound(ContextError):
    """No such message in this session of this tenant."""


class InvalidPreferences(ContextError, ValueError):
    """Personal settings are malformed or too long. The text names the field; nothing was stored."""


class SessionNotFound(ContextError):
    """No such session of this tenant."""


class SessionDeleted(ContextError):
    """The session was deleted, and its id is never used again."""


class SessionBusy(ContextError):
    """A task or compression of the session still runs, so it cannot be deleted now."""


class OtherUser(ContextError):
    """The session belongs to another user."""


class PinsTooLarge(ContextError):
    """The pins of a session would exceed their budget; nothing was stored."""

    def __init__(self, tokens: int, *, budget: int) -> None:
        super().__init__(
            f"the session's pins would take {tokens} tokens with their tool calls and results, and pins may take "
            f"{budget}: end a pin that has served, or raise the budget of pins"
        )
        self.requested = tokens
        """Tokens that the pins would take."""
        self.limit = budget


class RedactionFailed(ContextError):
    """A text could not be redacted and was withheld. The message names the detector, never the text."""


class WindowTooSmall(ContextError):
    """The required messages exceed the budget of the window, even with everything else left out."""

    def __init__(self, parts: Mapping[str, int], *, budget: int) -> None:
        named = "; ".join(f"{name}: {tokens} tokens" for name, tokens in parts.items() if tokens)
        super().__init__(
            f"a context budget of {budget} tokens is too small for what must be in the window ({named}): "
            "shorten the largest of these, raise the budget, or use a model with a larger window"
        )
        self.parts = dict(parts)
        """Tokens of each required part."""
        self.budget = budget
        """Tokens available for the required parts."""

    def to_json(self) -> dict[str, Any]:
        """The figures as a JSON object: the arguments of the error."""
        return {"budget": self.budget, "parts": {name: tokens for name, tokens in self.parts.items() if tokens}}
