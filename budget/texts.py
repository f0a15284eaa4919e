"""Parses numbers and lists that are given as text."""

_MOST_DIGITS = 18
"""As many as fit into a bigint whatever they are."""


def number_of(text: str) -> int | None:
    """The number in an id or a cursor; `None` unless it is 1 to 18 decimal digits."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS else None


def parts_of(text: str) -> list[str]:
    """The parts of a list such as `a, b`, without spaces around them; empty ones are left out."""
    return [part for one in text.split(",") if (part := one.strip())]
