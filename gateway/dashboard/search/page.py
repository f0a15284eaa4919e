"""The page of search results. Every section reads the same store as the page to which its results lead."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from purser.budget.errors import NotFound
from purser.budget.scopes import Kind
from purser.gateway.access.roles import Permission
from purser.gateway.dashboard.amounts import plain_text
from purser.gateway.dashboard.components import component, render
from purser.gateway.dashboard.formats import address, words
from purser.gateway.dashboard.live import Live
from purser.gateway.dashboard.pages import page
from purser.gateway.dashboard.visit import Visit

SHOWN = 8
"""Most results of each section."""
PENDING = 200
"""Number of pending requests that are searched; a request is found by its id in any case."""
LABEL, HINT = "Find tasks, sessions, scopes, approvals, users and keys", "Part of an id or a name"


@dataclass(frozen=True, slots=True)
class Found:
    """One result."""

    href: str
    name: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """The results of one kind."""

    title: str
    found: Sequence[Found]
    more: str
    """URL of a page with all results; empty if there is none."""


@page("/search", "Search")
async def search(visit: Visit, live: Live, q: str = "") -> Markup:
    """Builds the page; an empty search finds nothing."""
    text = plain_text(q)
    form = component("search", "search-all", LABEL, HINT, text, method="get", action="/search")
    results = visit.screen.region()

    async def refresh() -> None:
        found = [section async for section in _sections(visit, text) if section.found] if text else []
        results.show(listing(found, text))

    await live.follow((), refresh)
    return form + component("regions", results)


def listing(sections: Sequence[Section], text: str) -> Markup:
    """The results, by section."""
    return render("search/results.html", sections=sections, text=text, shown=SHOWN)


async def _sections(visit: Visit, text: str) -> AsyncIterator[Section]:
    use, tenant, caller = visit.services, visit.tenant, visit.caller
    kind, name = scope_of(text)
    tasks = await use.pages.tasks.page(tenant, limit=SHOWN, state=None, search=name, before=None)
    yield Section(
        "Tasks",
        [Found(address(f"/tasks/{one.task_id}"), one.task_id, words(one.state)) for one in tasks],
        address("/tasks", q=name),
    )
    sessions = await use.pages.sessions.page(tenant, search=name, before=None, limit=SHOWN)
    yield Section(
        "Sessions",
        [Found(address(f"/sessions/{one.session_id}"), one.session_id, one.user_id or "") for one in sessions],
        address("/sessions", q=name),
    )
    yield Section("Approvals", await _approvals(visit, text), "/approvals")
    for title, only in (("Users", Kind.USER), ("Budgets", kind)):
        scopes = [node.scope for node in await use.tree.find(tenant, name, only, SHOWN)]
        more = address("/budgets", q=name, kind=only)
        yield Section(title, [Found(address("/budgets", scope=scope), str(scope)) for scope in scopes], more)
    if caller.may(Permission.MANAGE_KEYS):
        keys = [key for key in await use.keys.list(tenant) if text.lower() in f"{key.key_id} {key.name}".lower()]
        yield Section("Keys", [Found("/keys", key.name, f"{key.key_id}, {key.role}") for key in keys[:SHOWN]], "/keys")


async def _approvals(visit: Visit, text: str) -> list[Found]:
    """Pending requests that name the text, and any request with this id."""
    use, wanted = visit.services, text.lower()
    found = [
        one
        for one in await use.queue.pending(visit.tenant, PENDING)
        if wanted in f"{one.scope} {one.approval_id} {' '.join(waiter.task_id or '' for waiter in one.waiters)}".lower()
    ]
    if not found:
        try:
            found = [await use.approvals.get(visit.tenant, text)]
        except NotFound:
            return []
    return [
        Found(address("/approvals", id=one.approval_id), str(one.scope), f"{one.approval_id}, {one.state}")
        for one in found[:SHOWN]
    ]


def scope_of(text: str) -> tuple[Kind | None, str]:
    """The kind and the id in a text such as `session:s1`; without a kind, `None` and the text."""
    kind, colon, name = text.partition(":")
    return (Kind(kind), name) if colon and kind in tuple(Kind) else (None, text)
