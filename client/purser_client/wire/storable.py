"""What Postgres can store: no NUL, and no half of a surrogate pair. Standard library only."""

from collections.abc import Mapping


def is_storable(value: object) -> bool:
    """Whether a text, or every text in a JSON value, can be stored."""
    if isinstance(value, str):
        return _is_storable(value)
    if isinstance(value, Mapping):
        return all(is_storable(name) and is_storable(item) for name, item in value.items())
    if isinstance(value, list | tuple):
        return all(map(is_storable, value))
    return True


def _is_storable(text: str) -> bool:
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False
