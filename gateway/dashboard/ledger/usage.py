"""Usage by user, session, task, agent or model: the largest as a chart and in a table."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from markupsafe import Markup

from purser.budget.postgres.reports.usage import UsageReports
from purser.budget.reports.usage import By, UsageLine
from purser.gateway.dashboard.charts import SERIES, across, axis_tooltip, down, legend, stacked
from purser.gateway.dashboard.components import component, render
from purser.gateway.dashboard.formats import address, exact
from purser.gateway.dashboard.ledger.filters import Wanted
from purser.gateway.reports.usage import SPAN

SHOWN = 12
PAGE, PAGES = 1_000, 10
"""Limits of what is read to find the largest lines; the page says if there are more."""
_CLASSES = (
    ("input", ("input",)),
    ("cached input", ("cache_read", "cache_write_5m", "cache_write_1h")),
    ("output", ("output",)),
    ("unsplit", ("unsplit",)),
)
"""Segments of the bars; together with presumed tokens they add up to all charged tokens."""
PRESUMED = "presumed"


@dataclass(frozen=True, slots=True)
class Usage:
    """The largest lines of a report."""

    by: By
    lines: tuple[UsageLine, ...]
    count: int
    """Number of lines that were read."""
    complete: bool
    """Whether all lines were read."""


async def largest(store: UsageReports, tenant: str, wanted: Wanted, since: datetime, until: datetime) -> Usage:
    """The lines with the most charged tokens in a time range, within the scope and task of the filters."""
    by = wanted.by
    lines: list[UsageLine] = []
    after: str | None = None
    count = 0
    for _ in range(PAGES):
        report = await store.report(tenant, by, since, until, within=wanted.within, after=after, limit=PAGE)
        count += len(report.lines)
        lines = sorted((*lines, *report.lines), key=lambda line: (-line.charged.tokens, line.id))[:SHOWN]
        after = report.following
        if after is None:
            break
    return Usage(by, tuple(lines), count, after is None)


def usage_span(wanted: Wanted) -> str:
    """What usage covers, in words. The filter by kind applies to entries only: usage consists of several kinds."""
    of = f"of {' and '.join(str(scope) for scope in wanted.within)} " if wanted.within else ""
    if wanted.times.since or wanted.times.until:
        return f"{of}in the chosen time"
    return f"{of}in the last {SPAN.days} days"


def chips(wanted: Wanted) -> Markup:
    """Links that group usage by something else."""
    links = [(wanted.href(by=by), f"by {by}", by is wanted.by, None) for by in By]
    return component("chips", "Usage by", links)


def chart(usage: Usage) -> dict[str, Any]:
    """One bar per line, with its classes of tokens as segments."""
    names = [line.id or "unnamed" for line in usage.lines]
    parts = _parts(usage)
    shown = {name: data for name, data in parts.items() if any(data)}
    return {
        "legend": legend(list(shown)),
        "tooltip": axis_tooltip("whole"),
        "xAxis": across(),
        "yAxis": down(names, width=150),
        "series": [stacked(name, SERIES[list(parts).index(name)], data) for name, data in shown.items()],
    }


def _parts(usage: Usage) -> dict[str, list[int]]:
    """Tokens of each line, by the name of the segment."""
    parts = {
        name: [sum(line.tokens.get(one, 0) for one in classes) for line in usage.lines] for name, classes in _CLASSES
    }
    return parts | {PRESUMED: [line.presumed.tokens for line in usage.lines]}


def chart_height(usage: Usage) -> int:
    """Height of the chart in pixels."""
    return 84 + 28 * max(1, len(usage.lines))


def listed(usage: Usage) -> Markup:
    """The table of the same figures."""
    return render("ledger/usage.html", usage=usage, remarks=_remarks, href=lambda line: href_of(usage.by, line.id))


def _remarks(line: UsageLine) -> str:
    counts = ((line.presumed_attempts, "presumed"), (line.unpriced_attempts, "without a price"))
    return ", ".join(f"{exact(count)} {what}" for count, what in counts if count > 0)


def href_of(by: By, name: str) -> str | None:
    """The page about a line's scope; `None` for tags, models, tools and days."""
    if not name or by in (By.TAG, By.MODEL, By.TOOL, By.DAY):
        return None
    if by in (By.SESSION, By.TASK):
        return address(f"/{by}s/{name}")
    return address("/ledger", scope=f"{by}:{name}")


def label(usage: Usage, since: datetime, until: datetime) -> str:
    """Text of the chart for screen readers."""
    tops: Sequence[str] = [f"{line.id or 'unnamed'} {exact(line.charged.tokens)}" for line in usage.lines[:5]]
    return f"Tokens by {usage.by} from {since:%Y-%m-%d} to {until:%Y-%m-%d}: {', '.join(tops) or 'none'}"
