"""The activity `settle`: records the usage and cost of an attempt, from any workflow."""

from dataclasses import dataclass

from temporalio import activity

from purser.budget.postgres.ledger.pricing import Pricing
from purser.budget.usage import CLASSES, Usage
from purser.workflows.contract import ActivityName, SettleInput, SettleResult


@dataclass(frozen=True)
class Settle:
    """The activity `settle`."""

    pricing: Pricing

    @activity.defn(name=ActivityName.SETTLE)
    async def settle(self, report: SettleInput) -> SettleResult:
        """Replaces the hold by the cost of the attempt; the same report again changes nothing.

        If the report states no money, the price of the hold's model determines it.
        """
        usage = Usage(**{name: getattr(report, name) for name in CLASSES})
        if report.total is not None:
            usage += Usage.from_total(max(0, report.total - usage.total))
        settled = await self.pricing.settle(report.tenant, report.hold_id, report.attempt, usage, report.nano_usd)
        return SettleResult(
            state=settled.state,
            tokens=settled.charged.tokens,
            nano_usd=settled.charged.nano_usd,
            overrun_tokens=settled.overrun.tokens,
            late=settled.late,
        )
