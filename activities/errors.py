"""Errors of tasks and of their model calls.

ActivityError
├── InvalidTask               a task file is wrong; nothing was written
├── TaskConflict              the task id is already used by another task file
├── TaskNotFound              the tenant has no such task, agent or call
├── TaskEnded                 the task has ended, so its agents make no further call
├── InvalidArguments          a model called a tool with arguments that are not a JSON object
└── ProviderError             a request to a provider failed
    ├── ProviderUnavailable   it may succeed later: rate limits, server errors, timeouts, broken connections
    └── ProviderRejected      the provider refuses this request for good
"""

from enum import StrEnum
from typing import Self


class ActivityError(Exception):
    """Root of every error that this package raises on purpose."""


class InvalidTask(ActivityError, ValueError):
    """A task file is wrong. The message names the place, the value and the remedy; nothing was written."""


class TaskConflict(ActivityError):
    """The task id is already used by another task file."""


class TaskNotFound(ActivityError):
    """The tenant has no such task, agent or call."""

    @classmethod
    def of(cls, task_id: str) -> Self:
        """The error for a task."""
        return cls(f"task {task_id[:140]!r} does not exist for this tenant")


class TaskEnded(ActivityError):
    """The task has ended, so its agents make no further call."""


class InvalidArguments(ActivityError, ValueError):
    """A model called a tool with arguments that are not a JSON object."""


class Cost(StrEnum):
    """What is known about the cost of a failed request."""

    NOTHING = "nothing"
    """The provider certainly did no work: it refused the connection or the request."""
    UNKNOWN = "unknown"
    """The provider may have done work and charged for it."""


class ProviderError(ActivityError):
    """A request to a provider failed. Messages carry codes, never the provider's text, which may quote the prompt."""

    def __init__(self, reason: str, *, cost: Cost) -> None:
        super().__init__(reason)
        self.reason = reason
        """Stable code, such as `rate_limited` or `bad_request`."""
        self.cost = cost
        self.status: int | None = None
        """HTTP status of the answer, if there was one."""


class ProviderUnavailable(ProviderError):
    """The request may succeed later."""

    def __init__(self, reason: str, *, cost: Cost, retry_after_ms: int | None = None) -> None:
        super().__init__(reason, cost=cost)
        self.retry_after_ms = retry_after_ms
        """Delay that the provider asked for, in milliseconds; `None` if it named none."""


class ProviderRejected(ProviderError):
    """The provider refuses this request for good."""
