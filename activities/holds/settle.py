"""The activity `settle`: records the usage and cost of an attempt, from any workflow."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated

from pydantic import BeforeValidator
from temporalio import activity

from purser.budget.errors import InvalidUsage
from purser.budget.postgres.ledger.pricing import Pricing
from purser.budget.usage import CLASSES, normalize
from purser.workflows.contract import ActivityName, SettleInput, SettleResult

FIGURES = (*CLASSES, "total")
_FIELDS = frozenset(field.name for field in fields(SettleInput))


def _with_a_figure(report: object) -> object:
    """Refuses a report in JSON that names no figure or only fields that are not known: it would be read as zero tokens.

    One that states money alone is that of a paid tool.
    """
    if isinstance(report, Mapping):
        given = {name for name, value in report.items() if value is not None}
        if given.isdisjoint(FIGURES) and ("nano_usd" not in given or given - _FIELDS):
            raise InvalidUsage(f"usage has no known figure: state {', '.join(CLASSES)}, or total")
    return report


Reported = Annotated[SettleInput, BeforeValidator(_with_a_figure)]
"""A report as it arrives in JSON."""


@dataclass(frozen=True)
class Settle:
    """The activity `settle`."""

    pricing: Pricing

    @activity.defn(name=ActivityName.SETTLE)
    async def settle(self, report: Reported) -> SettleResult:
        """Replaces the hold by the cost of the attempt; the same report again changes nothing.

        If the report states no money, the price of the hold's model determines it.

        Raises:
            InvalidUsage: a figure is not a count.
        """
        usage = normalize({name: getattr(report, name) for name in FIGURES}, "purser")
        settled = await self.pricing.settle(report.tenant, report.hold_id, report.attempt, usage, report.nano_usd)
        return SettleResult(
            state=settled.state,
            tokens=settled.charged.tokens,
            nano_usd=settled.charged.nano_usd,
            overrun_tokens=settled.overrun.tokens,
            late=settled.late,
        )
