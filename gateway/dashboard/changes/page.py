"""The page of changes, newest first, and its filters."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from fastapi import Query
from markupsafe import Markup

from purser.budget.postgres.changes import Change
from purser.budget.texts import number_of
from purser.gateway.dashboard.amounts import WHENEVER, TimeRange, plain_text
from purser.gateway.dashboard.changes.differences import differences, page_of
from purser.gateway.dashboard.components import LOADING, component, render
from purser.gateway.dashboard.formats import address
from purser.gateway.dashboard.live import Live
from purser.gateway.dashboard.pages import page
from purser.gateway.dashboard.visit import Visit

PAGE = 50
EVENTS = ("budget", "task", "approval")
"""Events that come with a change; others appear at the next interval."""
MOST = 512
"""Longest text of a filter."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The changes that a page shows."""

    target: str = ""
    by: str = ""
    action: str = ""
    times: TimeRange = WHENEVER
    cursor: int | None = None

    @classmethod
    def read(cls, **given: str) -> Self:
        """Parses the parameters of the URL; a cursor that is not valid is ignored."""
        plain = {name: plain_text(given[name], MOST) for name in ("target", "by", "action")}
        times = TimeRange.read(given["since"], given["until"])
        return cls(**plain, times=times, cursor=number_of(given["cursor"]))

    @property
    def filters(self) -> dict[str, Any]:
        """The filters as arguments of `Changes.list`."""
        names = {name: getattr(self, name) or None for name in ("target", "by", "action")}
        return names | {"since": self.times.since, "until": self.times.until, "cursor": self.cursor}

    def href(self, **more: object) -> str:
        """A URL with the same filters that starts with the newest change."""
        given = {"target": self.target, "by": self.by, "action": self.action} | self.times.query
        return address("/changes", **(given | more))

    @property
    def is_filtered(self) -> bool:
        """Whether any filter is set."""
        return any((self.target, self.by, self.action, self.times.since, self.times.until))


@page("/changes", "Changes")
async def changes(
    visit: Visit,
    live: Live,
    target: str = "",
    by: str = "",
    action: str = "",
    since: str = Query("", alias="from"),
    until: str = Query("", alias="to"),
    cursor: str = "",
) -> Markup:
    """Builds the page; times that are not valid are reported on it and ignored."""
    wanted = Wanted.read(target=target, by=by, action=action, since=since, until=until, cursor=cursor)
    rows = visit.screen.region(LOADING)

    async def refresh() -> None:
        found, following = await visit.services.changes.list(visit.tenant, limit=PAGE, **wanted.filters)
        rows.show(listing(found, following, wanted))

    # Older pages do not change.
    await live.follow(EVENTS if wanted.cursor is None else (), refresh)
    return render("changes/filters.html", wanted=wanted, most=MOST) + component("regions", rows)


def listing(found: Sequence[Change], following: int | None, wanted: Wanted) -> Markup:
    """The table of changes."""
    return render(
        "changes/list.html",
        changes=found,
        differences=differences,
        page_of=page_of,
        wanted=wanted,
        newest=wanted.href() if wanted.cursor is not None else None,
        older=wanted.href(cursor=following) if following is not None else None,
    )
