"""The activity `admit`: asks the gate for the hold of one turn."""

from dataclasses import dataclass
from datetime import timedelta

from temporalio import activity
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory

from purser.activities.calls.admission import Admission
from purser.budget.gate import Verdict
from purser.workflows.contract import ActivityName, AdmitInput, AdmitResult


@dataclass(frozen=True)
class Admit:
    """The activity `admit`, as a local and as a regular activity."""

    at_once: Admission
    """For the local activity: its connections soon give up on a lock."""
    in_time: Admission
    """For the regular activity, which may wait for locks."""

    @activity.defn(name=ActivityName.ADMIT)
    async def admit(self, request: AdmitInput) -> AdmitResult:
        """Returns the verdict on a turn. As a regular activity it waits by retries, which leave no trace in history."""
        if activity.info().is_local:
            return await self.at_once.admit(request)
        answer = await self.in_time.admit(request)
        if answer.verdict == Verdict.WAIT and answer.short is not None:
            raise ApplicationError(
                "open holds of others are in the way",
                type="BudgetWait",
                next_retry_delay=timedelta(milliseconds=answer.short.retry_after_ms),
                category=ApplicationErrorCategory.BENIGN,
            )
        return answer
