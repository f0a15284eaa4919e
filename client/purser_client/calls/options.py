"""What the calls of an adapter have in common."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypedDict

from purser_client.errors import PurserError
from purser_client.paths import path_or

_held: ContextVar[bool] = ContextVar("purser_held", default=False)
_tried: ContextVar["_Tried | None"] = ContextVar("purser_tried", default=None)


class CallOptions(TypedDict, total=False):
    """Arguments of `Purser.call` that an adapter takes once for all of its calls."""

    path: Sequence[str]
    """Scopes, outermost first. A block of `budget_path` goes before it."""
    max_output_tokens: int
    """The most that a reply may have if the request does not say."""
    min_output_tokens: int | None
    """What a reply may shrink to if only a part fits; all or nothing if left out."""
    tags: Mapping[str, str] | None
    """Labels of the calls."""
    lease_s: float
    """How long a hold outlives this process."""
    wait_s: float
    """How long a call waits for open calls of others."""
    approval_s: float
    """How long a call waits for a person; 0: `ApprovalNeeded` is raised at once."""


@dataclass(slots=True)
class _Tried:
    """Work that is tried until it succeeds."""

    key: str
    tries: int
    calls: int = 0


def asked(options: CallOptions, max_output_tokens: int | None) -> dict[str, Any]:
    """The options of one call, whose request may limit the reply.

    Raises:
        PurserError: no path is known, or the call is under a hold already.
    """
    if _held.get():
        raise PurserError(
            "PurserPlugin holds for this activity already, and one call must not be charged twice: "
            "make the plugin with activities=()"
        )
    made: dict[str, Any] = {**options, "path": path_or(options.get("path", ()))}
    if max_output_tokens is not None:
        made["max_output_tokens"] = max_output_tokens
    if (tried := _tried.get()) is not None:
        tried.calls += 1
        made["key"] = tried.key if tried.calls == 1 else f"{tried.key}#{tried.calls}"
        made["tries"] = tried.tries
        made["attempt"] = 1 if tried.tries == 1 else None
    return made


@contextmanager
def trying(key: str, tries: int) -> Iterator[None]:
    """Gives the calls of adapters in this block keys that stay when the block is tried again.

    Args:
        key: Identifies the block.
        tries: How often it was tried, this time included.
    """
    token = _tried.set(_Tried(key, tries))
    try:
        yield
    finally:
        _tried.reset(token)


def is_under_hold() -> bool:
    """Whether this code runs in a block of `under_hold`."""
    return _held.get()


@contextmanager
def under_hold() -> Iterator[None]:
    """Calls of adapters in this block are errors: what runs in it is held as a whole."""
    token = _held.set(True)
    try:
        yield
    finally:
        _held.reset(token)
