"""JSON bodies: how large they may be, and that what is in them can be stored and shown again."""

import asyncio
import json
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from math import isfinite
from typing import Any, TypeVar

from fastapi.exceptions import RequestValidationError

from purser.budget.errors import InvalidRequest

MAX_FORM = 8 * 2**10
"""Bytes of what anybody may send who is not known yet."""
MAX_BODY = 64 * 2**10
"""Bytes of the body of most requests."""
MAX_LARGE_BODY = 16 * 2**20
"""Bytes of a task with its documents, or of messages."""
MAX_DEPTH = 64
"""Lists and objects within each other."""
MAX_VALUES = 250_000
"""Values of a large body, about: every comma and bracket outside of texts counts."""

MESSAGES = re.compile(r"/v1/sessions/[^/]+/messages")
_LARGE = re.compile(rf"/v1/tasks|{MESSAGES.pattern}")
_MARK = re.compile(rb'["\[{,]')
_TEXT = re.compile(rb'(?:[^"\\]++|\\.){0,4096}+', re.DOTALL)
"""A part of a text. The number bounds how long a match keeps other threads waiting."""
_SHOWN = 8
"""Steps of the way to a fault that an error names."""

_aside = ThreadPoolExecutor(1, thread_name_prefix="large-bodies")
"""One thread: each more that computes makes the event loop wait longer for its turn."""
T = TypeVar("T")


def max_body(path: str) -> int:
    """Bytes that a request to a path of the API may bring."""
    return MAX_LARGE_BODY if _LARGE.fullmatch(path) else MAX_BODY


async def aside(size: int, function: Callable[..., T], *args: Any) -> T:
    """The result of `function`, which takes time in proportion to `size` bytes: off the event loop if that is much."""
    if size <= MAX_BODY:
        return function(*args)
    return await asyncio.get_running_loop().run_in_executor(_aside, function, *args)


def read_json(body: bytes) -> Any:
    """The value of a body.

    Raises:
        RequestValidationError: it is no JSON, or holds what can be neither stored nor shown; names the place.
        InvalidRequest: it holds too many values.
    """
    check_size(body)
    try:
        value = json.loads(body)
    except json.JSONDecodeError as error:
        raise RequestValidationError([{"type": "json_invalid", "loc": ("body", error.pos), "msg": error.msg}]) from None
    except (RecursionError, ValueError):  # far too deep, a number of thousands of digits, no UTF-8
        fault = {"type": "json", "loc": ("body",), "msg": "no JSON that can be read: nest less, write shorter numbers"}
        raise RequestValidationError([fault]) from None
    check_values(value)
    return value


def check_size(body: bytes) -> None:
    """Refuses more values than may be walked, before any is made; raises `InvalidRequest`."""
    if sum(map(body.count, (b",", b"[", b"{"))) <= MAX_VALUES:
        return  # even if all of them stood outside of texts
    found, at = 0, 0
    while mark := _MARK.search(body, at):
        at = mark.end()
        if mark[0] == b'"':
            at = _behind_text(body, at)
        elif (found := found + 1) > MAX_VALUES:
            raise InvalidRequest(f"body holds more than {MAX_VALUES} values: send it in parts")


def check_values(value: Any) -> None:
    """Refuses what is nested too deeply and numbers that JSON does not know; raises `RequestValidationError`."""
    open_ones: list[tuple[tuple[str | int, ...], Any]] = [((), [value])]
    while open_ones:
        at, container = open_ones.pop()
        items = container.items() if isinstance(container, dict) else enumerate(container)
        for key, item in items:
            if isinstance(item, dict | list):
                if len(at) > MAX_DEPTH - 1:
                    raise _fault((*at, key)[1:], f"lists and objects may be {MAX_DEPTH} deep in each other, nest less")
                open_ones.append(((*at, key), item))
            elif isinstance(item, float) and not isfinite(item):
                raise _fault((*at, key)[1:], "numbers are finite, send another or a text")


def _behind_text(body: bytes, at: int) -> int:
    while (part := _TEXT.match(body, at)) and part.end() > at:
        at = part.end()
    return at + 1


def _fault(place: tuple[str | int, ...], message: str) -> RequestValidationError:
    shown = place if len(place) <= _SHOWN else (*place[:_SHOWN], "…")
    return RequestValidationError([{"type": "value", "loc": ("body", *shown), "msg": message}])
