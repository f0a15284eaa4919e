"""Spending over time by user, model and so on, from the usage reports of the API, and its charts."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from purser.budget.gate import Amount
from purser.budget.money import NANO
from purser.budget.postgres.reports.usage import UsageReports
from purser.budget.reports.usage import By, UsageLine
from purser.gateway.dashboard.charts import (
    DOLLARS,
    MUTED,
    SERIES,
    axis,
    axis_tooltip,
    figures,
    grid,
    legend,
    milliseconds,
    stacked,
)

SHOWN = len(SERIES) - 1
"""Number of lines with a colour of their own; the others share the last."""
OTHERS = "others"
UNNAMED = "unnamed"
PAGE = 1_000
_EPOCH = datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True, slots=True)
class Period:
    """A time until now, and the length of its bars."""

    code: str
    name: str
    bars: int
    step: timedelta

    def starts(self, now: datetime) -> list[datetime]:
        """The start of each bar; the last one contains `now`."""
        last = now - (now - _EPOCH) % self.step
        return [last - self.step * number for number in range(self.bars - 1, -1, -1)]


PERIODS = (
    Period("24h", "24 hours", 24, timedelta(hours=1)),
    Period("7d", "7 days", 28, timedelta(hours=6)),
    Period("30d", "30 days", 30, timedelta(days=1)),
    Period("90d", "90 days", 30, timedelta(days=3)),
)
USUAL = PERIODS[1]


@dataclass(frozen=True, slots=True)
class Line:
    """What one user, model, … was charged: in each bar, and altogether."""

    name: str
    bars: tuple[Amount, ...]
    attempts: int = 0

    @property
    def total(self) -> Amount:
        """The sum of its bars."""
        return sum(self.bars, Amount())


@dataclass
class Spending:
    """Reads the spending of one page. An entry may commit after the end of its bar: only older bars are read once."""

    store: UsageReports
    tenant: str
    by: By
    period: Period
    _ended: dict[datetime, Sequence[UsageLine]] = field(default_factory=dict)

    async def lines(self, now: datetime) -> list[Line]:
        """All lines, those with the highest charge first."""
        starts = self.period.starts(now)
        bars = [await self._bar(start, now) for start in starts]
        names = dict.fromkeys(line.id for bar in bars for line in bar)
        charged = [{line.id: line for line in bar} for bar in bars]
        found = [
            Line(
                name,
                tuple(bar[name].charged if name in bar else Amount() for bar in charged),
                sum(bar[name].attempts for bar in charged if name in bar),
            )
            for name in names
        ]
        return sorted(found, key=lambda line: (-line.total.nano_usd, -line.total.tokens, line.name))

    async def _bar(self, start: datetime, now: datetime) -> Sequence[UsageLine]:
        end = start + self.period.step
        if start in self._ended:
            return self._ended[start]
        lines: list[UsageLine] = []
        after: str | None = None
        while True:
            page = await self.store.report(self.tenant, self.by, start, end, after=after, limit=PAGE)
            lines += page.lines
            if (after := page.following) is None:
                break
        if end + self.period.step <= now:
            self._ended[start] = lines
        return lines


def coloured(lines: Sequence[Line]) -> list[Line]:
    """The lines as charts show them: the largest, and the sum of all others."""
    if len(lines) <= SHOWN:
        return list(lines)
    rest = zip(*(line.bars for line in lines[SHOWN:]), strict=True)
    return [*lines[:SHOWN], Line(OTHERS, tuple(sum(bar, Amount()) for bar in rest))]


def chart(lines: Sequence[Line], period: Period, now: datetime, *, in_money: bool) -> dict[str, Any]:
    """Stacked bars over time, in tokens or in money."""
    starts = period.starts(now)
    shown = coloured(lines)
    half = period.step / 2
    names = [line.name or UNNAMED for line in shown]
    return {
        "legend": legend(names),
        "grid": grid(top=48),
        "tooltip": axis_tooltip(DOLLARS if in_money else "whole"),
        "xAxis": axis("time", splitNumber=5, min=milliseconds(starts[0]), max=milliseconds(starts[-1] + period.step)),
        "yAxis": figures(in_money=in_money),
        "series": [
            stacked(
                name,
                MUTED if line.name == OTHERS else SERIES[number],
                [
                    [milliseconds(start + half), amount.nano_usd / NANO if in_money else amount.tokens]
                    for start, amount in zip(starts, line.bars, strict=True)
                ],
                width=24,
            )
            for number, (name, line) in enumerate(zip(names, shown, strict=True))
        ],
    }


def label(lines: Sequence[Line], by: By, period: Period, *, in_money: bool) -> str:
    """Text of a chart for screen readers."""
    unit = "Cost" if in_money else "Tokens"
    return f"{unit} by {by} over {period.name}; the table below has the sums of {len(lines)} lines"
