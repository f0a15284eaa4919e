"""Records what an attempt cost, for any workflow."""

from dataclasses import dataclass

from temporalio import activity

from budget.holds import Report
from budget.postgres.ledger import Ledger
from budget.usage import Usage
from workflows.contract import ActivityName, SettleInput, SettleResult

_CLASSES = ("input", "cache_read", "cache_write_5m", "cache_write_1h", "output")


@dataclass(frozen=True)
class Settle:
    """The activity `settle`."""

    ledger: Ledger

    @activity.defn(name=ActivityName.SETTLE)
    async def settle(self, report: SettleInput) -> SettleResult:
        """Replaces the hold by what the attempt cost; the same report again changes nothing."""
        usage = Usage(**{name: getattr(report, name) for name in _CLASSES})
        if report.total is not None:
            usage += Usage.from_total(max(0, report.total - usage.total))
        settled = await self.ledger.settle(
            report.tenant, report.hold_id, report.attempt, Report(usage, report.nano_usd)
        )
        return SettleResult(
            state=settled.state,
            tokens=settled.charged.tokens,
            nano_usd=settled.charged.nano_usd,
            overrun_tokens=settled.overrun.tokens,
            late=settled.late,
        )
