"""Words of fields with a fixed set of values. Standard library only: the rules of the server use them too."""

from enum import StrEnum


class Mode(StrEnum):
    """What happens when an ask does not fit."""

    SOFT = "soft"
    """Warn and go on."""
    APPROVAL = "approval"
    """Ask a person."""
    HARD = "hard"
    """Refuse."""


class HoldState(StrEnum):
    """State of a hold. A hold ends exactly once."""

    NONE = "none"
    """The key is bound to its payload; nothing is held."""
    HELD = "held"
    SETTLED = "settled"
    RELEASED = "released"
    EXPIRED = "expired"
