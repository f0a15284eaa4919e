"""JSON bodies: limits on size, number of values and nesting; numbers must be finite, names occur once in an object."""

import asyncio
import json
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from math import isfinite
from typing import Any, TypeVar

from fastapi.exceptions import RequestValidationError

from purser.budget.errors import InvalidRequest
from purser.budget.json_objects import read_object

MAX_FORM = 8 * 2**10
"""Most bytes of the body of an unauthenticated request."""
MAX_BODY = 64 * 2**10
"""Most bytes of the body of other requests."""
MAX_LARGE_BODY = 16 * 2**20
"""Most bytes of a task with its documents, of messages, of all policies, or of a request to a model."""
MAX_DEPTH = 64
"""Deepest nesting of lists and objects."""
MAX_VALUES = 250_000
"""Approximate limit on the values of a large body: every comma and bracket outside of strings counts."""

MESSAGES = re.compile(r"/v1/sessions/[^/]+/messages")
_LARGE = re.compile(rf"/v1/tasks|/v1/policies(/replay)?|/(openai|anthropic)/v1/.*|{MESSAGES.pattern}")
_MARK = re.compile(rb'["\[{,]')
_TEXT = re.compile(rb'(?>(?:[^"\\]++|\\.){0,4096})', re.DOTALL)
"""A part of a string. The repetition count bounds how long a match blocks other threads."""
_SHOWN = 8
"""Most elements of a path that an error shows."""

_executor = ThreadPoolExecutor(1, thread_name_prefix="large-bodies")
"""One thread: every further one would delay the event loop more, because of the GIL."""
T = TypeVar("T")


def max_body(path: str) -> int:
    """Most bytes of the body of a request to an API path."""
    return MAX_LARGE_BODY if _LARGE.fullmatch(path) else MAX_BODY


async def run_off_loop(size: int, function: Callable[..., T], *args: Any) -> T:
    """Runs `function`, whose time is proportional to `size` bytes: in a thread if the body is large."""
    if size <= MAX_BODY:
        return function(*args)
    return await asyncio.get_running_loop().run_in_executor(_executor, function, *args)


def read_json(body: bytes) -> Any:
    """Parses a body.

    Raises:
        RequestValidationError: it is not JSON, nested too deeply, or has a number that is not finite; names the place.
        InvalidRequest: it has too many values, or a name twice in one object.
    """
    check_size(body)
    try:
        value = json.loads(body, object_pairs_hook=read_object)
    except InvalidRequest:
        raise
    except json.JSONDecodeError as error:
        raise RequestValidationError([{"type": "json_invalid", "loc": ("body", error.pos), "msg": error.msg}]) from None
    except UnicodeDecodeError as error:
        raise _fault((), f"not text in {error.encoding} at byte {error.start}: send UTF-8") from None
    except (RecursionError, ValueError):  # nested too deeply, or a number of thousands of digits
        raise _fault((), "not readable as JSON: nest less, write shorter numbers") from None
    check_values(value)
    return value


def check_size(body: bytes) -> None:
    """Raises `InvalidRequest` if a body has too many values, before it is parsed."""
    if sum(map(body.count, (b",", b"[", b"{"))) <= MAX_VALUES:
        return  # even if all of them are outside of strings
    found, at = 0, 0
    while mark := _MARK.search(body, at):
        at = mark.end()
        if mark[0] == b'"':
            at = _end_of_string(body, at)
        elif (found := found + 1) > MAX_VALUES:
            raise InvalidRequest(f"body has more than {MAX_VALUES} values: send it in parts")


def check_values(value: Any) -> None:
    """Raises `RequestValidationError` for values nested too deeply and for numbers that are not finite."""
    open_ones: list[tuple[tuple[str | int, ...], Any]] = [((), [value])]
    while open_ones:
        at, container = open_ones.pop()
        items = container.items() if isinstance(container, dict) else enumerate(container)
        for key, item in items:
            if isinstance(item, dict | list):
                if len(at) > MAX_DEPTH - 1:
                    raise _fault((*at, key)[1:], f"lists and objects may be nested {MAX_DEPTH} deep, nest less")
                open_ones.append(((*at, key), item))
            elif isinstance(item, float) and not isfinite(item):
                raise _fault((*at, key)[1:], "numbers must be finite, send another or a string")


def _end_of_string(body: bytes, at: int) -> int:
    while (part := _TEXT.match(body, at)) and part.end() > at:
        at = part.end()
    return at + 1


def _fault(place: tuple[str | int, ...], message: str) -> RequestValidationError:
    shown = place if len(place) <= _SHOWN else (*place[:_SHOWN], "…")
    return RequestValidationError([{"type": "value", "loc": ("body", *shown), "msg": message}])
