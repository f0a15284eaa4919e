"""Sessions as a list: what is shown, as markup."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Self

from markupsafe import Markup

from context.postgres.overviews import SessionRow
from gateway.dashboard.markup import NOTHING, address, empty, exact, link, moment, tokens
from gateway.dashboard.work_words import cell, figure, row, table

PAGE = 50
_BETWEEN = "~~"
"""Between the time and the id of a place in the list."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which sessions a page shows."""

    search: str = ""
    before: tuple[datetime, str] | None = None

    @classmethod
    def read(cls, search: str, before: str) -> Self:
        """From the address of the page; what cannot be read is left out."""
        at, between, session_id = before.partition(_BETWEEN)
        try:
            place = (datetime.fromisoformat(at), session_id) if between else None
        except ValueError:
            place = None
        if place is not None and (place[0].tzinfo is None or "\0" in session_id):
            place = None
        return cls(search.strip()[:128].replace("\0", ""), place)


def filters(wanted: Wanted) -> Markup:
    """A search field."""
    return Markup(
        '<form method="get" action="/sessions" role="search" class="search">'
        '<label class="sr" for="session-search">Search in ids of sessions and users</label>'
        '<input id="session-search" type="search" name="q" value="{}" maxlength="128" autocomplete="off" '
        'placeholder="Session or user"><button class="btn" type="submit">Search</button></form>'
    ).format(wanted.search)


def listing(rows: Sequence[SessionRow], wanted: Wanted) -> Markup:
    """The sessions of one page."""
    if not rows:
        return _nothing(wanted)
    columns = ("Session", "User", "#Messages", "#Summaries", "#Taken out of windows", "#Pins", "Began", "Last active")
    listed = table("Sessions", columns, map(_row, rows))
    return Markup('<section class="card">{}{}</section>').format(listed, _pager(rows, wanted))


def _row(one: SessionRow) -> Markup:
    active = datetime(one.active_on.year, one.active_on.month, one.active_on.day, 12, tzinfo=UTC)
    return row(
        one.session_id,
        link(address(f"/sessions/{one.session_id}"), one.session_id, "id"),
        cell(one.user_id or "—", "id"),
        figure(exact(one.messages)),
        figure(exact(one.summaries) if one.summaries else "—"),
        figure(tokens(one.saved_tokens) if one.saved_tokens else "—"),
        figure(exact(one.pins) if one.pins else "—"),
        cell(moment(one.created_at)),
        cell(moment(active, "day")),
    )


def _pager(rows: Sequence[SessionRow], wanted: Wanted) -> Markup:
    search = wanted.search or None
    newest = link(address("/sessions", q=search), "Newest", "btn") if wanted.before else NOTHING
    older = NOTHING
    if len(rows) == PAGE:
        place = f"{rows[-1].created_at.isoformat()}{_BETWEEN}{rows[-1].session_id}"
        older = link(address("/sessions", q=search, before=place), "Older", "btn")
    if not newest and not older:
        return NOTHING
    return Markup('<nav class="pager" aria-label="Older and newer">{}{}</nav>').format(newest, older)


def _nothing(wanted: Wanted) -> Markup:
    if wanted.search:
        return empty("No session matches", link("/sessions", "Show all sessions"))
    if wanted.before:
        return empty("No older sessions", link("/sessions", "Back to the newest"))
    return empty(
        "No sessions yet",
        Markup("A session begins with its first message: <code>POST /v1/sessions/ID/messages</code>, or a task."),
    )
