"""Usage by session, task, agent or model: the largest as a chart and in a table."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from markupsafe import Markup

from budget.postgres.usage_reports import UsageReports
from budget.usage_reports import By, UsageLine
from gateway.dashboard.charts import LINE, SERIES, SHORT_NUMBER, TEXT, axis, legend
from gateway.dashboard.ledger_entries import Wanted
from gateway.dashboard.markup import NOTHING, address, exact, join, link, money
from gateway.dashboard.work_words import cell, figure, row, table

SPAN = timedelta(days=30)
"""Of usage where nobody asked for another."""
SHOWN = 12
PAGE, PAGES = 1_000, 10
"""What is read at most to find the largest: further lines are told of, not read."""
_CLASSES = (
    ("input", ("input", "unsplit")),
    ("cached input", ("cache_read", "cache_write_5m", "cache_write_1h")),
    ("output", ("output",)),
)


@dataclass(frozen=True, slots=True)
class Usage:
    """The largest lines of a report."""

    by: By
    lines: tuple[UsageLine, ...]
    count: int
    """How many there are, as far as they were read."""
    complete: bool
    """Whether all were read."""


async def largest(store: UsageReports, tenant: str, by: By, since: datetime, until: datetime) -> Usage:
    """The lines of a span that were charged most."""
    lines: list[UsageLine] = []
    after: str | None = None
    count = 0
    for _ in range(PAGES):
        report = await store.report(tenant, by, since, until, after=after, limit=PAGE)
        count += len(report.lines)
        lines = sorted((*lines, *report.lines), key=lambda line: (-line.charged.tokens, line.id))[:SHOWN]
        after = report.following
        if after is None:
            break
    return Usage(by, tuple(lines), count, after is None)


def usage_span(wanted: Wanted) -> str:
    """Which time usage is added up over. Scope, kind and task narrow the entries alone."""
    if wanted.since or wanted.until:
        return "in the chosen time"
    return f"in the last {SPAN.days} days"


def chips(wanted: Wanted) -> Markup:
    """What to add up by."""
    links = join(
        Markup('<a href="{}"{}>{}</a>').format(
            wanted.href(by=str(by)), Markup(' aria-current="true"') if by is wanted.by else NOTHING, f"by {by}"
        )
        for by in By
    )
    return Markup('<nav class="chips" aria-label="Usage by">{}</nav>').format(links)


def chart(usage: Usage) -> dict[str, Any]:
    """Each line a bar, its classes of tokens as parts."""
    names = [line.id or "unnamed" for line in usage.lines]
    return {
        "legend": legend([name for name, _ in _CLASSES]),
        "tooltip": {
            "renderMode": "richText",
            "trigger": "axis",
            "axisPointer": {"type": "shadow", "shadowStyle": {"color": "var(--tint)"}},
            "confine": True,
            "backgroundColor": "var(--surface)",
            "borderColor": LINE,
            "textStyle": {"color": TEXT, "fontSize": 12},
            ":valueFormatter": "v => Math.round(v).toLocaleString('en-US')",
        },
        "grid": {"left": 12, "right": 24, "top": 34, "bottom": 8, "containLabel": True},
        "xAxis": axis("value", axisLabel={":formatter": SHORT_NUMBER}),
        "yAxis": axis(
            "category", data=names, inverse=True, axisLabel={"fontSize": 12, "width": 150, "overflow": "truncate"}
        ),
        "series": [
            {
                "type": "bar",
                "name": name,
                "stack": "tokens",
                "barMaxWidth": 18,
                "itemStyle": {"color": SERIES[index]},
                "emphasis": {"disabled": True},
                "data": [sum(line.tokens.get(part, 0) for part in parts) for line in usage.lines],
            }
            for index, (name, parts) in enumerate(_CLASSES)
        ],
    }


def chart_height(usage: Usage) -> int:
    """In pixels."""
    return 66 + 28 * max(1, len(usage.lines))


def listed(usage: Usage) -> Markup:
    """The same in figures."""
    if not usage.lines:
        return Markup('<p class="note">Nothing was charged in this time.</p>')
    rows = (
        row(
            line.id,
            _named(usage.by, line.id),
            figure(exact(line.charged.tokens)),
            figure(money(line.charged.nano_usd)),
            figure(exact(line.attempts)),
            figure(exact(line.overrun.tokens) if line.overrun.tokens else "—"),
            cell(f"{exact(line.presumed_attempts)} presumed" if line.presumed_attempts > 0 else ""),
        )
        for line in usage.lines
    )
    columns = (usage.by.capitalize(), "#Tokens", "#Cost", "#Attempts", "#Overrun", "Remarks")
    return join((table(f"Usage by {usage.by}", columns, rows), _rest(usage)))


def _named(by: By, name: str) -> Markup | str:
    if not name:
        return "unnamed"
    if by in (By.SESSION, By.TASK):
        return link(address(f"/{by}s/{name}"), name, "id")
    return link(address("/ledger", scope=f"agent:{name}"), name, "id") if by is By.AGENT else name


def _rest(usage: Usage) -> Markup:
    rest = usage.count - len(usage.lines)
    if rest <= 0:
        return NOTHING
    more = "" if usage.complete else " that were read"
    return Markup('<p class="note">The largest of {}{}.</p>').format(exact(usage.count), more)


def label(usage: Usage, since: datetime, until: datetime) -> str:
    """What the chart shows, for people who do not see it."""
    tops: Sequence[str] = [f"{line.id or 'unnamed'} {exact(line.charged.tokens)}" for line in usage.lines[:5]]
    return f"Tokens by {usage.by} from {since:%Y-%m-%d} to {until:%Y-%m-%d}: {', '.join(tops) or 'none'}"
