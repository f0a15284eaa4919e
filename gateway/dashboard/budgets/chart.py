"""The chart of a budget over time, as options of ECharts."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from purser.budget.money import NANO
from purser.budget.postgres.reports.scope_tree import Moment
from purser.gateway.dashboard.charts import axis, figures, grid, legend, milliseconds


def course(points: Sequence[Moment], now: datetime, *, in_money: bool) -> Mapping[str, Any]:
    """What was spent over time, what was held on top of it, and the limit."""
    unit = "nano_usd" if in_money else "tokens"
    scale = NANO if in_money else 1

    def line(values: Sequence[tuple[datetime, int | None]]) -> list[list[Any]]:
        return [[milliseconds(at), None if value is None else value / scale] for at, value in values]

    shown = [*points, replace(points[-1], at=now)] if points else []
    spent = [(one.at, getattr(one.spent, unit)) for one in shown]
    taken = [(one.at, getattr(one.spent, unit) + getattr(one.held, unit)) for one in shown]
    most = [(one.at, _capacity(one, unit)) for one in shown]
    return {
        "legend": legend(["spent", "held", "limit"]),
        "grid": grid(top=48),
        "xAxis": axis("time", splitNumber=4),
        "yAxis": figures(in_money=in_money),
        "series": [
            _area("held", line(taken), width=1),
            _area("spent", line(spent), width=2),
            _stairs("limit", line(most), "var(--bad)", width=1.5, type="dashed"),
        ],
    }


def _area(name: str, data: list[list[Any]], width: float) -> dict[str, Any]:
    color = f"var(--{name})"
    return _stairs(name, data, color, width=width) | {"areaStyle": {"color": color, "opacity": 0.25}}


def _stairs(name: str, data: list[list[Any]], color: str, **line: Any) -> dict[str, Any]:
    """A step line: each value holds until the next."""
    return {
        "name": name,
        "type": "line",
        "step": "end",
        "showSymbol": False,
        "symbol": "none",
        "data": data,
        "lineStyle": {"color": color, **line},
        "itemStyle": {"color": color},
    }


def _capacity(at: Moment, unit: str) -> int | None:
    most = getattr(at, f"limit_{unit}")
    return None if most is None else most + getattr(at.granted, unit)
