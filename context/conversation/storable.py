"""Text that Postgres can store: NUL characters and lone surrogates are replaced.

Both arrive from outside: models and tools write JSON, where `\\ud83d` and `\\u0000` are legal escapes.
"""

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from purser.wire.storable import is_storable

T = TypeVar("T")
REPLACEMENT = "\ufffd"
"""Takes the place of each character that cannot be stored."""


def storable(value: T) -> T:
    """Replaces each NUL and each lone surrogate by `REPLACEMENT`; adjacent halves of a surrogate pair are joined.

    Args:
        value: text or any JSON value; names of fields are replaced too.
    """
    return cast(T, _healed(value))


def _healed(value: object) -> Any:
    if isinstance(value, str):
        return value if is_storable(value) else _replaced(value)
    if isinstance(value, Mapping):
        return {_healed(name): _healed(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(_healed, value))
    return value


def _replaced(text: str) -> str:
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return joined.replace("\0", REPLACEMENT)
