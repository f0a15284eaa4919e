"""The activity `admit`: asks the gate for the hold of one turn."""

from dataclasses import dataclass

from temporalio import activity

from purser.activities.calls.admission import Admission
from purser.activities.calls.waits import raise_to_wait
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
        raise_to_wait(answer)
        return answer
