"""The chart of a conversation's growth and of its compressions, as options of ECharts."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from typing import Any

from purser.context.postgres.conversation.summaries import StoredSummary
from purser.context.postgres.sessions.overviews import GrowthPoint
from purser.gateway.dashboard.charts import MUTED, axis, axis_tooltip, figures, grid, legend, milliseconds, zoom

STORED, HISTORY = "stored", "history of a window"
MOMENTS = 5
"""Number of different seconds with new messages from which the axis shows time instead of message numbers."""
MOST_MARKS = 8
"""Maximum number of marked compressions, the newest ones."""
ROOM = 12
"""Number of mark labels that fit next to each other on a phone."""
_ACCENT, _CUT = "var(--c1)", "var(--step-compressed)"


@dataclass(frozen=True, slots=True)
class Point:
    """A point of a curve."""

    at: datetime
    seq: int
    """Sequence number of the newest message at that time."""
    tokens: int


def history(grown: Sequence[GrowthPoint], versions: Sequence[StoredSummary]) -> list[Point]:
    """Tokens of a window's history if nothing were omitted: the stored messages, with the summary in place of those
    that it covers.

    A compression is a drop: two points at one time. The precision is that of the points of `grown`.
    """
    points: list[Point] = []
    total = covered = summary = seq = 0
    happened: list[GrowthPoint | StoredSummary] = [*grown, *versions]
    for one in sorted(happened, key=lambda one: one.at if isinstance(one, GrowthPoint) else one.created_at):
        if isinstance(one, GrowthPoint):
            total, seq = one.tokens, one.seq
            points.append(Point(one.at, seq, summary + max(0, total - covered)))
        else:
            points.append(Point(one.created_at, seq, summary + max(0, total - covered)))
            covered, summary = _up_to(grown, one.summary.last_seq), one.summary.tokens_after
            points.append(Point(one.created_at, seq, summary + max(0, total - covered)))
    return points


def _up_to(grown: Sequence[GrowthPoint], seq: int) -> int:
    """Cumulative tokens up to a message."""
    place = bisect_left([one.seq for one in grown], seq)
    return grown[min(place, len(grown) - 1)].tokens if grown else 0


def spreads_over_time(grown: Sequence[GrowthPoint]) -> bool:
    """Whether the axis can show time; that of an imported conversation shows message numbers."""
    return len({one.at.replace(microsecond=0) for one in grown}) >= MOMENTS


def growth(grown: Sequence[GrowthPoint], versions: Sequence[StoredSummary]) -> dict[str, Any]:
    """Cumulative stored tokens, tokens of a window's history, and a mark for each compression."""
    by_time = spreads_over_time(grown)
    shown = history(grown, versions)
    made = {one.created_at for one in versions}
    falls = [after for before, after in pairwise(shown) if before.at == after.at and after.at in made]
    compressed = list(zip(sorted(versions, key=lambda one: one.created_at), falls, strict=False))
    marks = _marks([(_at(fall, by_time), one.summary.version) for one, fall in compressed], shown, by_time)
    stored = [Point(one.at, one.seq, one.tokens) for one in grown]
    if stored and shown:  # what is stored does not change when a summary is made
        stored.append(replace(shown[-1], tokens=stored[-1].tokens))
    across = axis("time") if by_time else axis("value", min="dataMin", max="dataMax", splitLine={"show": False})
    return {
        "legend": legend([STORED, HISTORY]),
        "grid": grid(top=58, bottom=30),
        "tooltip": axis_tooltip("tokens") | {"axisPointer": {"lineStyle": {"color": MUTED}}},
        "xAxis": across,
        "yAxis": figures(),
        "dataZoom": zoom(filterMode="none"),
        "series": [
            _line(STORED, stored, _ACCENT, by_time=by_time, area=True),
            _line(HISTORY, shown, _CUT, by_time=by_time)
            | {
                "markLine": {
                    "symbol": "none",
                    "silent": True,
                    "label": {"formatter": "{b}", "color": MUTED, "fontSize": 11, "position": "end", "distance": 2},
                    "lineStyle": {"color": _CUT, "type": "dotted"},
                    "data": marks,
                }
            },
        ],
    }


def _marks(compressed: Sequence[tuple[int, int]], shown: Sequence[Point], by_time: bool) -> list[dict[str, Any]]:
    """Lines for the newest compressions, labelled with their version where there is room."""
    apart = (_at(shown[-1], by_time) - _at(shown[0], by_time)) / ROOM if shown else 0
    marks: list[dict[str, Any]] = []
    named: float | None = None
    for place, version in reversed(compressed[-MOST_MARKS:]):
        fits = named is None or named - place >= apart
        marks.append({"xAxis": place, "name": f"v{version}" if fits else ""})
        named = place if fits else named
    return marks


def _at(point: Point, by_time: bool) -> int:
    return milliseconds(point.at) if by_time else point.seq


def _line(name: str, points: Sequence[Point], colour: str, *, by_time: bool, area: bool = False) -> dict[str, Any]:
    return {
        "type": "line",
        "name": name,
        "step": "end",
        "showSymbol": len(points) < 3,
        "symbolSize": 6,
        "lineStyle": {"color": colour, "width": 2},
        "itemStyle": {"color": colour},
        "emphasis": {"disabled": True},
        "data": [[_at(point, by_time), point.tokens] for point in points],
        **({"areaStyle": {"color": colour, "opacity": 0.12}} if area else {}),
    }
