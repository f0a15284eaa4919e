"""A worker interceptor that keeps texts out of histories and logs: a foreign error leaves an activity as a type name.

Exception messages quote prompts, arguments and rows, and stack traces quote source lines. Temporal stores both in
history, and the SDK logs them. Only Purser's own errors keep their message, which says what to do and holds no text of
a conversation. The interceptor covers the activities of tools too, in every worker that uses it.
"""

import asyncio
import logging
import traceback
from typing import Any

from asyncpg import DataError
from temporalio import activity
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory, is_cancelled_exception
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, Interceptor

from purser.activities.errors import ActivityError, InvalidTask
from purser.activities.models.metrics import CallMetrics
from purser.budget.errors import BudgetError, InvalidRequest, LedgerUnavailable
from purser.context.errors import ContextError

_log = logging.getLogger(__name__)
_OURS = (ActivityError, BudgetError, ContextError)


class SafeErrors(Interceptor):
    """Replaces foreign errors by their type names; install it in every worker that runs them or tools."""

    def __init__(self, calls: CallMetrics | None = None) -> None:
        """Args:
        calls: counts activities that failed because Postgres did not answer; `None` counts nothing.
        """
        self._calls = calls

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        """Returns the interceptor of every activity."""
        return _SafeErrors(next, self._calls)


class _SafeErrors(ActivityInboundInterceptor):
    def __init__(self, next: ActivityInboundInterceptor, calls: CallMetrics | None) -> None:
        super().__init__(next)
        self._calls = calls

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        try:
            return await super().execute_activity(input)
        except Exception as error:
            if is_cancelled_exception(error):
                raise
            if self._calls is not None and isinstance(error, LedgerUnavailable):
                self._calls.ledger_unavailable("activity")
            failure = without_text(error)
            _log_failure(error, failure)
        except asyncio.CancelledError:
            details = activity.cancellation_details()
            if details is None or not (details.timed_out or details.not_found):
                raise
            # No workflow waits for this result any more; the SDK would log a full stack trace here.
            kind = "TimedOut" if details.timed_out else "NotFound"
            failure = ApplicationError(kind, type=kind, category=ApplicationErrorCategory.BENIGN)
        # Outside the handler, so that the new error has no context that a logger might print.
        raise failure


def without_text(error: Exception) -> ApplicationError:
    """Returns the same failure for Temporal, with type, retryability, delay and category, but without foreign text.

    Errors that Purser raises on purpose do not go away on a retry, except that the ledger may become available again;
    nor does what Postgres cannot store become storable.
    """
    if isinstance(error, ApplicationError):
        kind = error.type or type(error).__name__
        return ApplicationError(
            kind,
            type=kind,
            non_retryable=error.non_retryable,
            next_retry_delay=error.next_retry_delay,
            category=error.category,
        )
    if isinstance(error, DataError):
        error = InvalidRequest("the input has a value that cannot be stored: leave out NUL, and write smaller numbers")
    kind = type(error).__name__
    ours = isinstance(error, _OURS)
    # What is wrong with a task file is told by quoting it.
    message = str(error) if ours and not isinstance(error, InvalidTask) else ""
    return ApplicationError(message or kind, type=kind, non_retryable=ours and not isinstance(error, LedgerUnavailable))


def _log_failure(error: Exception, failure: ApplicationError) -> None:
    """Logs where an error happened. Purser's own errors include their message, which holds no conversation text."""
    if isinstance(error, ApplicationError):
        return
    frames = traceback.extract_tb(error.__traceback__)
    at = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    what = f": {error}" if isinstance(error, _OURS) else ""
    _log.warning("activity %s failed with %s at %s%s", activity.info().activity_type, failure.type, at, what)
