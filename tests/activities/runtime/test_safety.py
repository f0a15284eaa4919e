"""No foreign text leaves an activity in an exception; what Purser itself says does."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest
from asyncpg import CharacterNotInRepertoireError, DataError
from prometheus_client import CollectorRegistry
from temporalio import activity
from temporalio.activity import ActivityCancellationDetails
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory
from temporalio.testing import ActivityEnvironment
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput

from purser.activities.errors import InvalidTask, TaskNotFound
from purser.activities.models.metrics import CallMetrics
from purser.activities.runtime.safety import SafeErrors, without_text
from purser.budget.errors import KeyReused, LedgerUnavailable
from purser.context.errors import WindowTooSmall

CANARY = "canary-55"


@pytest.mark.parametrize(
    ("error", "kind", "final"),
    [
        (RuntimeError(CANARY), "RuntimeError", False),
        (ConnectionError(CANARY), "ConnectionError", False),
        (InvalidTask(CANARY), "InvalidTask", True),
        (ApplicationError(CANARY, CANARY, type="Odd", non_retryable=True), "Odd", True),
        (ApplicationError(CANARY, type="Odd"), "Odd", False),
    ],
)
def test_an_error_becomes_its_type_and_whether_trying_again_helps(error: Exception, kind: str, final: bool) -> None:
    failure = without_text(error)
    assert (failure.message, failure.type, failure.non_retryable) == (kind, kind, final)
    assert failure.details == ()
    assert failure.__cause__ is None
    assert failure.__context__ is None


@pytest.mark.parametrize(
    ("error", "final"),
    [
        (LedgerUnavailable("the ledger did not answer"), False),
        (TaskNotFound("task 't1' does not exist for this tenant"), True),
        (KeyReused("key 'k1' is bound to another payload"), True),
        (WindowTooSmall({"input": 9}, budget=1), True),
    ],
)
def test_an_error_of_purser_keeps_its_message(error: Exception, final: bool) -> None:
    failure = without_text(error)
    assert (failure.message, failure.type, failure.non_retryable) == (str(error), type(error).__name__, final)


@pytest.mark.parametrize("error", [CharacterNotInRepertoireError(CANARY), DataError(CANARY)])
def test_what_cannot_be_stored_is_an_invalid_request(error: Exception) -> None:
    failure = without_text(error)
    assert (failure.type, failure.non_retryable) == ("InvalidRequest", True)
    assert "NUL" in failure.message
    assert CANARY not in failure.message


def test_delay_and_category_of_a_failure_stay() -> None:
    error = ApplicationError(
        CANARY, type="BudgetWait", next_retry_delay=timedelta(seconds=3), category=ApplicationErrorCategory.BENIGN
    )
    failure = without_text(error)
    assert failure.next_retry_delay == timedelta(seconds=3)
    assert failure.category is ApplicationErrorCategory.BENIGN


class Innermost(ActivityInboundInterceptor):
    def __init__(self) -> None:
        """There is no next one."""

    async def execute_activity(self, input: ExecuteActivityInput) -> None:
        await input.fn()


async def running(
    function: Callable[[], Awaitable[None]], environment: ActivityEnvironment, calls: CallMetrics | None = None
) -> None:
    """Runs an activity behind the interceptor."""
    chain = SafeErrors(calls).intercept_activity(Innermost())
    await environment.run(chain.execute_activity, ExecuteActivityInput(function, (), None, {}))


@pytest.mark.parametrize(
    ("details", "error", "kind"),
    [
        (ActivityCancellationDetails(timed_out=True), ApplicationError, "TimedOut"),
        (ActivityCancellationDetails(not_found=True), ApplicationError, "NotFound"),
        (ActivityCancellationDetails(cancel_requested=True), asyncio.CancelledError, ""),
        (ActivityCancellationDetails(worker_shutdown=True), asyncio.CancelledError, ""),
    ],
)
async def test_an_activity_that_no_workflow_awaits_is_no_failure_to_be_logged_and_other_cancels_pass(
    details: ActivityCancellationDetails, error: type[BaseException], kind: str
) -> None:
    environment, begun = ActivityEnvironment(), asyncio.Event()

    @activity.defn
    async def waits() -> None:
        begun.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(running(waits, environment))
    await begun.wait()
    environment.cancel(details)
    with pytest.raises(error) as raised:
        await task
    if isinstance(raised.value, ApplicationError):
        assert (raised.value.type, raised.value.category) == (kind, ApplicationErrorCategory.BENIGN)


@pytest.mark.parametrize(("error", "counted"), [(LedgerUnavailable(CANARY), 1), (KeyReused(CANARY), 0)])
async def test_an_activity_that_failed_without_the_ledger_is_counted(error: Exception, counted: int) -> None:
    registry = CollectorRegistry()

    @activity.defn
    async def fails() -> None:
        raise error

    with pytest.raises(ApplicationError):
        await running(fails, ActivityEnvironment(), CallMetrics(registry))
    assert registry.get_sample_value("purser_ledger_unavailable_total", {"caller": "activity"}) == counted
