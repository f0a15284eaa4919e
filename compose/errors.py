"""Errors of settings, commands and the embedded stack.

ComposeError
├── SettingsError        a setting is missing, unknown or wrong
├── StackError           an embedded part did not start
│   └── AlreadyRunning   another `purser up` owns the data directory
├── NoGateway            a command has no gateway to call
├── Unreachable          a configured service does not answer
│   └── TooManyConnections   Postgres accepts no further connection
├── SchemaMismatch       the database is at another revision than this code
├── UnreadableFile       a file is not in a format that the command reads
├── MissingData          a benchmark does not find its data
├── NoSuchCall           a task has no model call that matches
└── RequestFailed        the gateway answered with a problem
"""

from collections.abc import Mapping


class ComposeError(Exception):
    """Base class. `remedy` says what the reader can do about the error."""

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.remedy = remedy

    @property
    def is_transient(self) -> bool:
        """Whether the same request may succeed later."""
        return False


class SettingsError(ComposeError):
    """A setting is missing, unknown or wrong; the message names it."""


class StackError(ComposeError):
    """An embedded part of the stack did not start or died."""


class AlreadyRunning(StackError):
    """Another `purser up` owns the data directory."""


class NoGateway(ComposeError):
    """A command has no gateway to call: none is configured, and no `up` runs."""


class Unreachable(ComposeError):
    """A configured service does not answer."""

    @property
    def is_transient(self) -> bool:
        return True


class TooManyConnections(Unreachable):
    """Postgres accepts no further connection."""


class SchemaMismatch(ComposeError):
    """The database is at another revision than this code."""


class UnreadableFile(ComposeError):
    """A file is not in a format that the command reads; the message names the file, the line and the field."""


class MissingData(ComposeError):
    """A benchmark does not find its data."""


class NoSuchCall(ComposeError):
    """A task has no model call that matches."""


class RequestFailed(ComposeError):
    """The gateway answered with a problem (RFC 9457)."""

    def __init__(self, problem: Mapping[str, object]) -> None:
        super().__init__(str(problem.get("detail") or problem.get("title")), remedy=str(problem.get("remedy") or ""))
        self.problem = dict(problem)

    @property
    def is_transient(self) -> bool:
        return bool(self.problem.get("retryable"))
