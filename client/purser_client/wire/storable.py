"""What Postgres can store: no NUL, and no half of a surrogate pair. Standard library only."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime


def is_storable(value: object) -> bool:
    """Whether a text, or every text in a JSON value, can be stored."""
    return unstorable_at(value) is None


def is_storable_end(moment: datetime) -> bool:
    """Whether a time at which something ends can be stored.

    The last time that there is cannot: Postgres' driver stores it as infinity, and returns that without a time zone.
    """
    try:
        return moment.astimezone(UTC) < datetime.max.replace(tzinfo=UTC)
    except OverflowError:
        return False


def unstorable_at(value: object) -> tuple[str | int, ...] | None:
    """The place of the first text in a JSON value that cannot be stored, or of the object that has it as a name."""
    if isinstance(value, str):
        return None if _is_storable(value) else ()
    if isinstance(value, Mapping):
        if not all(_is_storable(name) for name in value if isinstance(name, str)):
            return ()
        items: Iterable[tuple[str | int, object]] = value.items()
    elif isinstance(value, list | tuple):
        items = enumerate(value)
    else:
        return None
    for place, item in items:
        if (inner := unstorable_at(item)) is not None:
            return (place, *inner)
    return None


def _is_storable(text: str) -> bool:
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False
