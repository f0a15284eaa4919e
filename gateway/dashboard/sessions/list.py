"""The list of sessions: its URL parameters, and how it is rendered."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Self

from markupsafe import Markup

from purser.context.postgres.sessions.overviews import SessionRow
from purser.gateway.dashboard.amounts import plain_text
from purser.gateway.dashboard.components import component, render
from purser.gateway.dashboard.formats import address

PAGE = 50
_BETWEEN = "~~"
"""Separator of the time and the id in the cursor `before`."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The sessions that a page shows."""

    search: str = ""
    before: tuple[datetime, str] | None = None

    @classmethod
    def read(cls, search: str, before: str) -> Self:
        """Parses the parameters of the URL; those that are not valid are ignored."""
        at, between, session_id = before.partition(_BETWEEN)
        try:
            place = (datetime.fromisoformat(at), session_id) if between else None
        except ValueError:
            place = None
        if place is not None and (place[0].tzinfo is None or "\0" in session_id):
            place = None
        return cls(plain_text(search), place)


def filters(wanted: Wanted) -> Markup:
    """The search form."""
    label, hint = "Search in ids of sessions and users", "Session or user"
    return component("search", "session-search", label, hint, wanted.search, method="get", action="/sessions")


def listing(rows: Sequence[SessionRow], wanted: Wanted) -> Markup:
    """The table of sessions."""
    newest = address("/sessions", q=wanted.search) if wanted.before else None
    older = None
    if len(rows) == PAGE:
        place = f"{rows[-1].created_at.isoformat()}{_BETWEEN}{rows[-1].session_id}"
        older = address("/sessions", q=wanted.search, before=place)
    return render("sessions/list.html", sessions=rows, wanted=wanted, newest=newest, older=older, noon=_noon)


def _noon(day: date) -> datetime:
    """Noon in UTC, which is the same day in most time zones."""
    return datetime(day.year, day.month, day.day, 12, tzinfo=UTC)
