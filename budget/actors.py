"""The actor of a change: every row of the change log names one."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Actor:
    """A bearer key, or a component of Purser, that changes something."""

    name: str
    """Name of the key or component."""
    key_id: str | None
    """`None` where no key acts."""
