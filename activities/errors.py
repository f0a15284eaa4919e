"""What can go wrong around tasks and the calls that they make.

ActivityError
├── InvalidTask               a task file is wrong; nothing was written
├── TaskConflict              the task id stands for another task file already
├── TaskNotFound              no such task, agent or call for this tenant
└── ProviderError             a request to a provider failed
    ├── ProviderUnavailable   it may succeed later: rate limits, server errors, timeouts, broken connections
    └── ProviderRejected      the provider refuses this request for good
"""

from enum import StrEnum


class ActivityError(Exception):
    """Root of every error that this package raises on purpose."""


class InvalidTask(ActivityError, ValueError):
    """A task file is wrong. The message names the place, the value and the remedy; nothing was written."""


class TaskConflict(ActivityError):
    """The task id stands for another task file already."""


class TaskNotFound(ActivityError):
    """No such task, agent or call for this tenant."""


class InvalidArguments(ActivityError, ValueError):
    """A model called a tool with arguments that are no JSON object."""


class Cost(StrEnum):
    """What is known of the cost of a failed request."""

    NOTHING = "nothing"
    """The provider surely did no work: it refused the connection or the request."""
    UNKNOWN = "unknown"
    """It may have worked and charged."""


class ProviderError(ActivityError):
    """A request to a provider failed. Messages carry codes, never what the provider said: it may quote the prompt."""

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
        """When the provider wants to be asked again; `None` if it did not say."""


class ProviderRejected(ProviderError):
    """The provider refuses this request for good."""
