"""How a conversation grew, and what compressions did to its window: options of ECharts."""

from bisect import bisect_left
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from context.postgres.overviews import Grown
from context.postgres.summaries import StoredSummary
from context.summaries import Summary
from gateway.dashboard.charts import LINE, MUTED, SHORT_NUMBER, TEXT, axis, legend, zoom
from gateway.dashboard.markup import exact

STORED, HISTORY = "stored", "history of a window"
_ACCENT, _CUT = "var(--c1)", "var(--step-compressed)"


def history(grown: Sequence[Grown], versions: Sequence[StoredSummary]) -> list[tuple[datetime, int]]:
    """What a window's history would take if nothing were left out: what is stored, with the summary in the place of
    what it covers.

    A compression is a fall: two points at one time. It is as exact as the points of `grown`.
    """
    points: list[tuple[datetime, int]] = []
    total = covered = summary = 0
    happened: list[Grown | StoredSummary] = [*grown, *versions]
    for one in sorted(happened, key=lambda one: one.at if isinstance(one, Grown) else one.created_at):
        if isinstance(one, Grown):
            total = one.tokens
            points.append((one.at, summary + max(0, total - covered)))
        else:
            points.append((one.created_at, summary + max(0, total - covered)))
            covered, summary = _up_to(grown, one.summary.last_seq), one.summary.tokens_after
            points.append((one.created_at, summary + max(0, total - covered)))
    return points


def _up_to(grown: Sequence[Grown], seq: int) -> int:
    """Tokens of everything up to a message."""
    place = bisect_left([one.seq for one in grown], seq)
    return grown[min(place, len(grown) - 1)].tokens if grown else 0


def growth(grown: Sequence[Grown], versions: Sequence[StoredSummary]) -> dict[str, Any]:
    """Stored tokens, cumulated, the history of a window beside them, and each compression with before and after."""
    marks = [{"name": _mark(one.summary), "xAxis": _ms(one.created_at)} for one in versions]
    return {
        "legend": legend([STORED, HISTORY]),
        "grid": {"left": 12, "right": 22, "top": 44, "bottom": 30, "containLabel": True},
        "tooltip": {
            "renderMode": "richText",
            "trigger": "axis",
            "confine": True,
            "backgroundColor": "var(--surface)",
            "borderColor": LINE,
            "textStyle": {"color": TEXT, "fontSize": 12},
            ":valueFormatter": "v => Math.round(v).toLocaleString('en-US') + ' tokens'",
            "axisPointer": {"lineStyle": {"color": MUTED}},
        },
        "xAxis": axis("time"),
        "yAxis": axis("value", axisLabel={":formatter": SHORT_NUMBER}),
        "dataZoom": zoom(filterMode="none"),
        "series": [
            _line(STORED, [(one.at, one.tokens) for one in grown], _ACCENT, area=True),
            _line(HISTORY, history(grown, versions), _CUT)
            | {
                "markLine": {
                    "symbol": "none",
                    "silent": True,
                    "label": {"formatter": "{b}", "color": MUTED, "fontSize": 10, "position": "end", "distance": 2},
                    "lineStyle": {"color": _CUT, "type": "dotted"},
                    "data": marks[-8:],
                }
            },
        ],
    }


def _mark(made: Summary) -> str:
    return f"version {made.version}\n{exact(made.tokens_before)} → {exact(made.tokens_after)}"


def _line(name: str, points: Sequence[tuple[datetime, int]], colour: str, *, area: bool = False) -> dict[str, Any]:
    return {
        "type": "line",
        "name": name,
        "showSymbol": len(points) < 3,
        "symbolSize": 6,
        "lineStyle": {"color": colour, "width": 2},
        "itemStyle": {"color": colour},
        "emphasis": {"disabled": True},
        "data": [[_ms(at), tokens] for at, tokens in points],
        **({"areaStyle": {"color": colour, "opacity": 0.12}} if area else {}),
    }


def _ms(at: datetime) -> int:
    return round(at.timestamp() * 1_000)
