"""Decodes the inputs of Purser's activities, so that one that cannot be read is refused for good.

The SDK decodes before any interceptor runs, tries an input that it cannot read again forever, names no field, and reads
1.5 and true as 1.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import is_dataclass
from functools import cache
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError
from temporalio import activity

from purser.budget.errors import InvalidRequest
from purser.wire.storable import is_storable

_MAX_INTEGER = 2**63 - 1
"""The largest that Postgres stores, and so the largest that any input may hold."""


def decoding(run: Callable[[Any], Any]) -> Callable[..., Any]:
    """Returns the activity of the same name that decodes its one argument as `run` declares it, and then runs `run`."""
    name = run.__name__
    [declared] = [hint for name, hint in get_type_hints(run, include_extras=True).items() if name != "return"]
    adapter = _adapter(declared)

    # With `*arguments`, which have no type, the SDK passes on the JSON values.

    @activity.defn(name=name)
    async def decoded(*arguments: Any) -> Any:
        if len(arguments) != 1:
            raise InvalidRequest(f"activity {name} got {len(arguments)} arguments: give it one object")
        [value] = arguments
        # In the process, activities are called with what they declare.
        return await run(value if is_dataclass(value) else _read(name, adapter, value))

    return decoded


@cache
def _adapter(declared: Any) -> TypeAdapter[Any]:
    return TypeAdapter(declared)


def _read(name: str, adapter: TypeAdapter[Any], value: Any) -> Any:
    if not isinstance(value, Mapping):
        given = "null" if value is None else type(value).__name__
        raise InvalidRequest(f"activity {name} got {given}: give it one object")
    if place := next(_unstorable(value), None):
        raise InvalidRequest(f"{place} of activity {name} cannot be stored: leave out NUL, and use 64-bit integers")
    try:
        return adapter.validate_json(json.dumps(value), strict=True)
    except ValidationError as error:
        # Values are not repeated: they may be private text.
        raise InvalidRequest("; ".join(_complaint(name, detail) for detail in error.errors()[:8])) from None


def _unstorable(value: Any, *place: object) -> Iterator[str]:
    """The places of texts and numbers that Postgres cannot store."""
    if isinstance(value, Mapping | list):
        for part, item in value.items() if isinstance(value, Mapping) else enumerate(value):
            yield from _unstorable(item, *place, part)
    elif not is_storable(value) or (isinstance(value, int) and abs(value) > _MAX_INTEGER):
        yield _named(place)


def _named(place: Iterable[object]) -> str:
    return ".".join(str(part)[:80] for part in place)


def _complaint(name: str, detail: Mapping[str, Any]) -> str:
    place = _named(detail["loc"])
    subject = f"{place} of activity {name}" if place else f"the input of activity {name}"
    if detail["type"] == "missing":
        return f"{subject} is missing: add it"
    message = str(detail["msg"]).removeprefix("Value error, ")
    return f"{subject} is not valid: {message[0].lower()}{message[1:]}"
