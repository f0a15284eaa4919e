"""Who changes something. Every change names one, so that the record of changes can say who it was."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Actor:
    """A key, or a part of Purser."""

    name: str
    """Of the key, or of the part."""
    key_id: str | None
    """`None` where no key acts."""
