"""Redaction of structured values: messages as JSON, fields of log records."""

from collections.abc import Callable, Mapping
from typing import Any

Redact = Callable[[str], str]


def redact_value(value: Any, redact: Redact) -> Any:
    """Redacts every text in a JSON value. A text is read together with its key, which may be its label."""
    match value:
        case str():
            return redact(value)
        case Mapping():
            return {key: _redact_field(key, inner, redact) for key, inner in value.items()}
        case list() | tuple():
            return [redact_value(inner, redact) for inner in value]
        case _:
            return value


def _redact_field(key: object, value: Any, redact: Redact) -> Any:
    if not isinstance(value, str):
        return redact_value(value, redact)
    before, after = f'"{key}": "', '"'
    field = redact(before + value + after)
    if field.startswith(before) and field.endswith(after):
        return field[len(before) : -len(after)]
    return redact(value)
