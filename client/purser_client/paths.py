"""Whose budget the calls of a block are: `with budget_path("user:ana", "session:s1")`."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from purser_client.errors import PurserError

_path: ContextVar[tuple[str, ...]] = ContextVar("purser_path", default=())


@contextmanager
def budget_path(*scopes: str) -> Iterator[None]:
    """Sets the path of the model calls in this block, and in the tasks that it starts.

    Args:
        scopes: Outermost first, for example `"user:ana", "session:s1"`.
    """
    token = _path.set(scopes)
    try:
        yield
    finally:
        _path.reset(token)


def current_path() -> tuple[str, ...]:
    """The path of the block; empty outside of one."""
    return _path.get()


def path_or(default: Sequence[str]) -> Sequence[str]:
    """The path of the block, or the default; raises `PurserError` if there is neither."""
    found = current_path() or default
    if not found:
        raise PurserError(
            "nobody is named whose budget this call is: pass path=['session:…'], "
            "or call in a block `with budget_path('session:…')`"
        )
    return found
