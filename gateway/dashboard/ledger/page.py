"""The page of the ledger: usage, and entries with their holds."""

from datetime import UTC, datetime

from fastapi import Query
from markupsafe import Markup

from purser.budget.errors import NotFound
from purser.budget.texts import number_of
from purser.gateway.dashboard.components import LOADING, render
from purser.gateway.dashboard.ledger.entries import PAGE, Opened, listing
from purser.gateway.dashboard.ledger.filters import Wanted, filters
from purser.gateway.dashboard.ledger.usage import chart, chart_height, chips, label, largest, listed, usage_span
from purser.gateway.dashboard.live import Live
from purser.gateway.dashboard.pages import page
from purser.gateway.dashboard.region import Act
from purser.gateway.dashboard.visit import Visit

USAGE_EVERY_S = 120.0
"""Refresh interval of usage, whose sum reads many entries."""


@page("/ledger", "Ledger")
async def ledger(
    visit: Visit,
    live: Live,
    scope: str = "",
    kind: str = "",
    task: str = "",
    since: str = Query("", alias="from"),
    until: str = Query("", alias="to"),
    cursor: str = "",
    by: str = "",
) -> Markup:
    """Builds the page; URL parameters that are not valid are reported on it and ignored."""
    wanted = Wanted.read(scope=scope, kind=kind, task=task, since=since, until=until, cursor=cursor, by=by)
    one = _LedgerPage(visit, wanted)
    live.start((), one.refresh_usage, every_s=USAGE_EVERY_S)
    # Older pages do not change.
    await live.follow(("turn", "task", "approval", "budget") if wanted.cursor is None else (), one.refresh_entries)
    return one.shown()


class _LedgerPage:
    """The regions of the page, and the hold that the person has opened."""

    def __init__(self, visit: Visit, wanted: Wanted) -> None:
        self._visit = visit
        self._wanted = wanted
        self._opened: tuple[int, str] | None = None
        self._chart = visit.screen.chart("Usage")
        self._usage = visit.screen.region(LOADING)
        self._entries = visit.screen.region(LOADING).on_act(self._acted)

    def shown(self) -> Markup:
        """The page as it is now."""
        return render(
            "ledger/page.html",
            filters=filters(self._wanted),
            span=usage_span(self._wanted),
            chips=chips(self._wanted),
            chart=self._chart,
            usage=self._usage,
            entries=self._entries,
        )

    async def refresh_usage(self) -> None:
        """Reads and shows usage."""
        since, until = self._wanted.span(datetime.now(UTC))
        usage = await largest(self._visit.services.usage, self._visit.tenant, self._wanted, since, until)
        if usage.lines:
            self._chart.show(chart(usage), label=label(usage, since, until), height=chart_height(usage))
        else:
            self._chart.hide()
        self._usage.show(listed(usage))

    async def refresh_entries(self) -> None:
        """Reads and shows the entries, and the opened hold."""
        tenant, use = self._visit.tenant, self._visit.services
        found = await use.entries.list(tenant, **self._wanted.filters, limit=PAGE)
        opened = None
        if self._opened is not None:
            entry_id, hold_id = self._opened
            hold = await use.holds.get(tenant, hold_id)
            opened = Opened(entry_id, hold, tuple(await use.pages.ledger_health.attempts(tenant, hold_id)))
        self._entries.show(listing(found.entries, found.cursor, self._wanted, opened))

    async def _acted(self, act: Act) -> None:
        entry = number_of(act.data.get("entry", ""))
        if act.name != "hold" or entry is None:
            return
        wanted = (entry, act.data.get("hold", ""))
        self._opened = None if wanted == self._opened else wanted
        try:
            await self.refresh_entries()
        except NotFound:
            self._opened = None
            self._visit.screen.toast("This hold no longer exists.", good=False)
