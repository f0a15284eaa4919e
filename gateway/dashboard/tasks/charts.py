"""The charts of a task: pure functions from turns and costs to options of ECharts."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from purser.activities.postgres.overviews import Cost
from purser.activities.tasks.timeline import Step, StepKind, Turn
from purser.budget.money import NANO
from purser.gateway.dashboard.charts import (
    SERIES,
    across,
    axis,
    down,
    grid,
    legend,
    milliseconds,
    stacked,
    tooltip,
    zoom,
)
from purser.gateway.dashboard.formats import dollars, duration_text, exact

COLOURS: Mapping[StepKind, str] = {
    StepKind.QUEUED: "var(--step-queued)",
    StepKind.WAITED: "var(--step-waited)",
    StepKind.ASKED: "var(--step-asked)",
    StepKind.REFUSED: "var(--step-lost)",
    StepKind.LADDER: "var(--step-delayed)",
    StepKind.ADMITTED: "var(--step-admitted)",
    StepKind.DELAYED: "var(--step-delayed)",
    StepKind.COMPRESSED: "var(--step-compressed)",
    StepKind.CALLED: "var(--step-called)",
    StepKind.PACED: "var(--step-backoff)",
    StepKind.BACKED_OFF: "var(--step-backoff)",
    StepKind.SETTLED: "var(--step-settled)",
    StepKind.RELEASED: "var(--step-released)",
    StepKind.EXPIRED: "var(--step-lost)",
    StepKind.REJECTED: "var(--step-lost)",
}
INSTANTS = frozenset(
    {
        StepKind.REFUSED,
        StepKind.LADDER,
        StepKind.ADMITTED,
        StepKind.SETTLED,
        StepKind.RELEASED,
        StepKind.EXPIRED,
        StepKind.REJECTED,
    }
)
LANE, AROUND = 30, 92
"""Height of a lane, and of the rest of the chart, in pixels."""
OWN = "session"
"""The lane of steps that belong to no agent."""


def lanes(turns: Iterable[Turn]) -> list[str]:
    """Names of the lanes, in the order in which the agents began."""
    return list(dict.fromkeys(turn.agent_id or OWN for turn in turns))


def gantt(turns: Sequence[Turn], now: datetime, since: datetime | None = None) -> dict[str, Any]:
    """The timeline: one lane per agent, one bar per step; steps that have not ended extend to `now`.

    Args:
        turns: oldest first.
        now: the current time.
        since: start of the axis; `None`: the first step.
    """
    begin: dict[str, Any] = {} if since is None else {"min": milliseconds(since)}
    lines = {"show": True, "lineStyle": {"color": "var(--line)", "type": "dashed"}}
    names = lanes(turns)
    kinds = [kind for kind in StepKind if any(step.kind is kind for turn in turns for step in turn.steps)]
    return {
        "legend": legend([kind.value for kind in kinds]),
        "grid": grid(top=40, bottom=30),
        "tooltip": tooltip(trigger="item", formatter="{b}"),
        "xAxis": axis("time", splitLine=lines, **begin),
        "yAxis": down(names),
        "dataZoom": zoom(filterMode="weakFilter"),
        "series": [_series(kind, turns, names, now) for kind in kinds],
    }


def gantt_height(turns: Sequence[Turn]) -> int:
    """Height of the chart in pixels."""
    return AROUND + LANE * max(2, len(lanes(turns)))


def _series(kind: StepKind, turns: Sequence[Turn], names: Sequence[str], now: datetime) -> dict[str, Any]:
    data = [
        {
            "name": step_label(turn, step, now),
            "value": [
                names.index(turn.agent_id or OWN),
                milliseconds(step.start),
                milliseconds(step.end or max(now, step.start)),
            ],
        }
        for turn in turns
        for step in turn.steps
        if step.kind is kind
    ]
    return {
        "type": "custom",
        "name": kind.value,
        ":renderItem": "instant" if kind in INSTANTS else "span",
        "clip": True,
        "encode": {"x": [1, 2], "y": 0},
        "itemStyle": {"color": COLOURS[kind]},
        "z": 3 if kind in INSTANTS else 2,
        "data": data,
    }


def step_label(turn: Turn, step: Step, now: datetime) -> str:
    """One step in words."""
    duration = (step.end or max(now, step.start)) - step.start
    parts = [turn.agent_id or OWN, *([f"turn {turn.number}"] if turn.number else []), str(step.kind)]
    if step.kind not in INSTANTS:
        parts.append(duration_text(duration.total_seconds()) + ("" if step.end else " so far"))
    if step.tokens:
        parts.append(f"{exact(step.tokens)} tokens" + (" less" if step.kind is StepKind.COMPRESSED else ""))
    if step.nano_usd:
        parts.append(dollars(step.nano_usd))
    return " · ".join([*parts, *([step.note] if step.note else [])])


def costs_chart(costs: Sequence[Cost], *, by_money: bool) -> dict[str, Any]:
    """One bar per agent, with one segment per model."""
    agents = list(dict.fromkeys(cost.agent_id or OWN for cost in costs))
    models = list(dict.fromkeys(cost.model or "unnamed" for cost in costs))
    found = {(cost.agent_id or OWN, cost.model or "unnamed"): cost for cost in costs}

    def value(agent: str, model: str) -> float:
        cost = found.get((agent, model))
        return 0 if cost is None else cost.nano_usd / NANO if by_money else cost.tokens

    return {
        "legend": legend(models),
        "grid": grid(),
        "tooltip": tooltip(trigger="item", formatter="{b}\n{a}: {c}"),
        "xAxis": across(in_money=by_money),
        "yAxis": down(agents),
        "series": [
            stacked(model, SERIES[index % len(SERIES)], [value(agent, model) for agent in agents])
            for index, model in enumerate(models)
        ],
    }


def costs_height(costs: Sequence[Cost]) -> int:
    """Height of the chart in pixels."""
    return 84 + 30 * max(1, len({cost.agent_id for cost in costs}))
