"""Whose budget the calls of a block are: `with budget_path("user:ana", "session:s1")`."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from purser_client.errors import PurserError, invalid

_path: ContextVar[tuple[str, ...]] = ContextVar("purser_path", default=())


@contextmanager
def budget_path(*scopes: str) -> Iterator[None]:
    """Sets the path of the model calls in this block, and in the tasks that it starts.

    Args:
        scopes: Outermost first, for example `"user:ana", "session:s1"`.

    Raises:
        InvalidRequest: a scope is no text.
    """
    token = _path.set(tuple(listed(scopes)))
    try:
        yield
    finally:
        _path.reset(token)


def current_path() -> tuple[str, ...]:
    """The path of the block; empty outside of one."""
    return _path.get()


def listed(path: object) -> list[str]:
    """The scopes of a path. Raises `InvalidRequest` for others, and for one text, which would be read by letters."""
    if isinstance(path, Iterable) and not isinstance(path, str):
        scopes = list(path)
        if all(isinstance(scope, str) for scope in scopes):
            return scopes
    detail = f"the path {path!r:.140} is no list of texts"
    raise invalid(detail, "Write for example ['user:ana', 'session:s1'].", "path")


def path_or(default: Sequence[str]) -> Sequence[str]:
    """The path of the block, or the default; raises `PurserError` if there is neither."""
    found = current_path() or default
    if not found:
        raise PurserError(
            "nobody is named whose budget this call is: pass path=['session:…'], "
            "or call in a block `with budget_path('session:…')`"
        )
    return found
