"""The activity `release`: closes a key, from any workflow."""

from dataclasses import dataclass

from temporalio import activity

from purser.budget.holds import check_name
from purser.budget.postgres.ledger.ledger import Ledger
from purser.budget.scopes import check_id
from purser.workflows.contract import ActivityName, ReleaseInput, ReleaseResult


@dataclass(frozen=True)
class Release:
    """The activity `release`."""

    ledger: Ledger

    @activity.defn(name=ActivityName.RELEASE)
    async def release(self, request: ReleaseInput) -> ReleaseResult:
        """Ends the hold of a key. A key without a hold is closed, so that a delayed ask cannot hold.

        Raises:
            InvalidRequest: no hold can have this tenant and key.
        """
        check_name(request.key, "key")
        check_id(request.tenant, "tenant")
        released = await self.ledger.release(request.tenant, key=request.key)
        return ReleaseResult(released.state)
