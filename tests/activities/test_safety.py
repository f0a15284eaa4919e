"""No text leaves an activity by way of an exception."""

from datetime import timedelta

import pytest
from prometheus_client import CollectorRegistry
from temporalio import activity
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory
from temporalio.testing import ActivityEnvironment
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput

from purser.activities.errors import TaskNotFound
from purser.activities.models.metrics import CallMetrics
from purser.activities.safety import SafeErrors, without_text
from purser.budget.errors import KeyReused, LedgerUnavailable
from purser.context.errors import WindowTooSmall

CANARY = "canary-55"


@pytest.mark.parametrize(
    ("error", "kind", "final"),
    [
        (RuntimeError(CANARY), "RuntimeError", False),
        (ConnectionError(CANARY), "ConnectionError", False),
        (LedgerUnavailable(CANARY), "LedgerUnavailable", False),
        (TaskNotFound(CANARY), "TaskNotFound", True),
        (KeyReused(CANARY), "KeyReused", True),
        (WindowTooSmall({"input": 9}, budget=1), "WindowTooSmall", True),
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


def test_delay_and_category_of_a_failure_stay() -> None:
    error = ApplicationError(
        CANARY, type="BudgetWait", next_retry_delay=timedelta(seconds=3), category=ApplicationErrorCategory.BENIGN
    )
    failure = without_text(error)
    assert failure.next_retry_delay == timedelta(seconds=3)
    assert failure.category is ApplicationErrorCategory.BENIGN


@pytest.mark.parametrize(("error", "counted"), [(LedgerUnavailable(CANARY), 1), (KeyReused(CANARY), 0)])
async def test_an_activity_that_failed_without_the_ledger_is_counted(error: Exception, counted: int) -> None:
    registry = CollectorRegistry()

    @activity.defn
    async def fails() -> None:
        raise error

    class Innermost(ActivityInboundInterceptor):
        def __init__(self) -> None:
            """There is no next one."""

        async def execute_activity(self, input: ExecuteActivityInput) -> None:
            await input.fn()

    chain = SafeErrors(CallMetrics(registry)).intercept_activity(Innermost())
    with pytest.raises(ApplicationError):
        await ActivityEnvironment().run(chain.execute_activity, ExecuteActivityInput(fails, (), None, {}))
    assert registry.get_sample_value("purser_ledger_unavailable_total", {"caller": "activity"}) == counted
