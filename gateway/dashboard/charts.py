"""Charts in the colours of the page: drawn as SVG, they follow its theme."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

TEXT = "var(--text)"
MUTED = "var(--muted)"
LINE = "var(--line)"
SURFACE = "var(--surface)"
FONT = 'system-ui, -apple-system, "Segoe UI", "Noto Sans", Roboto, sans-serif'
"""The font of the page, by name: labels are measured on a canvas, which inherits no font."""
HALF_A_LABEL = 36
"""Pixels right of the last tick: half of the widest label of a time axis, which is centred below its tick."""
SERIES = tuple(f"var(--c{number})" for number in range(1, 9))
"""Colours of series, in order."""


class Chart:
    """One chart. The page also shows its data as text or in a table; its label says where."""

    def __init__(self, part_id: str, label: str, height: int, changed: Callable[["Chart"], None]) -> None:
        """Use `Screen.chart`."""
        self.part_id = part_id
        self.text = label
        self.height = height
        self.hidden = True
        self._options: dict[str, Any] = {}
        self._changed = changed

    def show(self, options: Mapping[str, Any], *, label: str | None = None, height: int | None = None) -> None:
        """Draws the chart; nothing is sent if nothing has changed.

        Args:
            options: options of ECharts. The value of one whose name begins with a colon is the name of a function in
                `assets/charts.js`.
            label: new text for screen readers.
            height: new height in pixels.
        """
        before = self.shown()
        self._options, self.hidden = base() | dict(options), False
        self.text, self.height = label or self.text, height or self.height
        if self.shown() != before:
            self._changed(self)

    def hide(self) -> None:
        """Removes the chart from the page while there is nothing to draw."""
        if not self.hidden:
            self.hidden = True
            self._changed(self)

    def shown(self) -> dict[str, Any]:
        """The chart as sent to the page."""
        return {
            "id": self.part_id,
            "label": self.text,
            "height": self.height,
            "hidden": self.hidden,
            "options": self._options,
        }


def base() -> dict[str, Any]:
    """Options of all charts."""
    return {
        "animation": False,
        "textStyle": {"color": TEXT, "fontFamily": FONT, "fontSize": 11},
        "tooltip": tooltip(),
        "grid": grid(),
    }


def milliseconds(at: datetime) -> int:
    """A time as charts take it: milliseconds since 1970."""
    return round(at.timestamp() * 1_000)


def tooltip(**more: Any) -> dict[str, Any]:
    """A tooltip. It is drawn, never written as HTML: names are untrusted.

    Args:
        more: further options of ECharts.
    """
    return {
        "renderMode": "richText",
        "confine": True,
        "backgroundColor": SURFACE,
        "borderColor": LINE,
        "textStyle": {"color": TEXT, "fontSize": 12},
        **more,
    }


def axis_tooltip(formatter: str) -> dict[str, Any]:
    """A tooltip with all series at one place of the axis.

    Args:
        formatter: name of the function in `assets/charts.js` that formats the values.
    """
    pointer = {"type": "shadow", "shadowStyle": {"color": "var(--tint)"}}
    return tooltip(trigger="axis", axisPointer=pointer) | {":valueFormatter": formatter}


def grid(*, top: int = 34, bottom: int = 12) -> dict[str, Any]:
    """The area of the axes: their labels and names stay inside the chart.

    Args:
        top: pixels above, for the legend.
        bottom: pixels below, for a slider.
    """
    return {
        "left": 12,
        "right": HALF_A_LABEL,
        "top": top,
        "bottom": bottom,
        "outerBoundsMode": "same",
        "outerBoundsContain": "all",
    }


def legend(names: Sequence[str]) -> dict[str, Any]:
    """A legend above the chart."""
    return {
        "data": list(names),
        "top": 0,
        "left": 0,
        "itemWidth": 12,
        "itemHeight": 8,
        "itemGap": 14,
        "type": "scroll",
        "inactiveColor": LINE,
        "textStyle": {"color": MUTED, "fontSize": 12},
        "pageTextStyle": {"color": MUTED},
        "pageIconColor": MUTED,
        "pageIconInactiveColor": LINE,
    }


def axis(kind: str, unit: str = "", **more: Any) -> dict[str, Any]:
    """An axis.

    Args:
        kind: `value`, `time` or `category`.
        unit: unit of its figures, written next to the axis.
        more: further options of ECharts.
    """
    labels = {"formatter": _TIMES, "showMinLabel": False, "showMaxLabel": False} if kind == "time" else {}
    return {
        "type": kind,
        "name": unit,
        "nameTextStyle": {"color": MUTED, "fontSize": 11},
        "axisLine": {"lineStyle": {"color": LINE}},
        "axisTick": {"show": False},
        "axisLabel": {"color": MUTED, "fontSize": 11, "hideOverlap": True} | labels | more.pop("axisLabel", {}),
        "splitLine": {"show": kind == "value", "lineStyle": {"color": LINE, "type": "dashed"}},
        **more,
    }


def figures(*, in_money: bool = False, **more: Any) -> dict[str, Any]:
    """An axis of tokens or of dollars, with their unit; `more` as for `axis`."""
    unit, formatter = ("dollars", DOLLARS) if in_money else ("tokens", "short")
    return axis("value", unit, axisLabel={":formatter": formatter}, **more)


def across(*, in_money: bool = False) -> dict[str, Any]:
    """A horizontal axis of figures with their unit below."""
    return figures(in_money=in_money, nameLocation="middle", nameGap=24, splitNumber=4)


def down(names: Sequence[str], *, width: int = 140) -> dict[str, Any]:
    """A vertical axis of names, the first on top, each cut to `width` pixels."""
    label = {"fontSize": 12, "width": width, "overflow": "truncate"}
    return axis("category", data=names, inverse=True, axisLabel=label)


def stacked(name: str, colour: str, data: Sequence[Any], *, width: int = 18) -> dict[str, Any]:
    """A series of bars on those of the other series, each at most `width` pixels wide."""
    return {
        "type": "bar",
        "name": name,
        "stack": "all",
        "barMaxWidth": width,
        "itemStyle": {"color": colour},
        "emphasis": {"disabled": True},
        "data": data,
    }


def zoom(**more: Any) -> list[dict[str, Any]]:
    """A slider below that zooms the horizontal axis. The mouse wheel scrolls the page."""
    slider = {
        "type": "slider",
        "height": 14,
        "bottom": 4,
        "borderColor": LINE,
        "backgroundColor": "transparent",
        "fillerColor": "var(--tint)",
        "handleStyle": {"color": SURFACE, "borderColor": MUTED},
        "moveHandleStyle": {"color": LINE},
        "dataBackground": {"lineStyle": {"opacity": 0}, "areaStyle": {"opacity": 0}},
        "selectedDataBackground": {"lineStyle": {"opacity": 0}, "areaStyle": {"opacity": 0}},
        "emphasis": {"disabled": True},
        "textStyle": {"color": MUTED},
        "showDetail": False,
        "brushSelect": False,
    }
    return [{**slider, **more}]


_TIMES = {
    "year": "{yyyy}",
    "month": "{MMM} {yyyy}",
    "day": "{MMM} {d}",
    "hour": "{HH}:{mm}",
    "minute": "{HH}:{mm}",
    "second": "{HH}:{mm}:{ss}",
    "millisecond": "{HH}:{mm}:{ss}.{SSS}",
}
"""Labels of a time axis, by the precision of the tick."""
DOLLARS = "dollars"
"""The function in `assets/charts.js` that formats dollars."""
