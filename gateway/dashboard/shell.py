"""What surrounds every page: header, navigation, who is signed in, and the line that tells of trouble."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from markupsafe import Markup
from nicegui import ui

from gateway.auth import page_csrf
from gateway.dashboard import live
from gateway.dashboard.markup import NOTHING, exact, join
from gateway.dashboard.region import Region
from gateway.dashboard.visit import Visit

SIGN_OUT = "/sign-out"
NAVIGATION = (
    ("Approvals", "/approvals"),
    ("Budgets", "/budgets"),
    ("Tasks", "/tasks"),
    ("Sessions", "/sessions"),
    ("Ledger", "/ledger"),
    ("Health", "/health"),
)
_THEMES = (("auto", "Auto", "As your system"), ("light", "Light", "Light colours"), ("dark", "Dark", "Dark colours"))


def head(assets: Path, at: str) -> str:
    """What every page loads, by addresses that change with the content."""
    found = {name: f"{at}/{name}?v={_digest(assets / name)}" for name in ("purser.css", "work.css", "purser.js")}
    # The theme is set before anything is painted: at night a flash of white is unkind.
    early = (
        "(()=>{const t=localStorage.getItem('purser-theme');document.documentElement.dataset.theme="
        "t==='dark'||t!=='light'&&matchMedia('(prefers-color-scheme: dark)').matches?'dark':'light'})()"
    )
    return (
        f'<script>{early}</script><link rel="stylesheet" href="{found["purser.css"]}">'
        f'<link rel="stylesheet" href="{found["work.css"]}">'
        f'<script defer src="{found["purser.js"]}"></script>'
    )


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()[:12]


@contextmanager
def frame(title: str, visit: Visit) -> Iterator[None]:
    """Everything around a page; what is built inside stands in its main part.

    Args:
        title: the page's name in the navigation.
        visit: who looks.
    """
    content = ui.context.client.content.classes("shell")
    # The library makes the whole page its main part; ours is smaller.
    assert content.parent_slot is not None
    content.parent_slot.parent.tag = "div"
    Region(_header(visit), "header").classes("top")
    navigation = Region(_links(title, None), "nav").classes("side").props('aria-label="Pages"')
    with ui.element("div").classes("page"):
        trouble = Region().classes("trouble").props("role=status")
        live.begin(visit, trouble)
        with ui.element("main").classes("main").props('id="main" tabindex="-1"'):
            Region(Markup("<h1>{}</h1>").format(title)).classes("title")
            yield
    ui.run_javascript(
        f"window.purser?.set({datetime.now(UTC).isoformat()!r});"
        "document.querySelector('.side [aria-current]')?.scrollIntoView({block: 'nearest', inline: 'center'})"
    )

    client = ui.context.client

    async def count() -> None:
        pending = await visit.services.queue.count(visit.tenant)
        navigation.show(_links(title, pending))
        with client:
            ui.page_title(f"({pending}) {title} · Purser" if pending else f"{title} · Purser")

    live.start(("approval",), count)


def error(title: str, text: str) -> None:
    """A calm statement in place of a page's content."""
    shown = Markup('<div class="empty error" role="alert"><p class="empty-title">{}</p><p>{}</p></div>')
    Region(shown.format(title, text))


def _header(visit: Visit) -> Markup:
    caller = visit.caller
    choices = join(
        Markup('<button type="button" data-theme-choice="{}" title="{}" aria-pressed="false">{}</button>').format(
            name, hint, label
        )
        for name, label, hint in _THEMES
    )
    return Markup(
        '<a class="skip" href="#main">Skip to content</a>'
        '<a class="brand" href="/"><img src="{}" alt="" width="22" height="22"><span>Purser</span></a>'
        '<span class="tenant" title="Tenant">{}</span>'
        '<span class="space"></span>'
        '<div class="themes" role="group" aria-label="Colours">{}</div>'
        '<span class="who"><b>{}</b> <span>{}</span></span>'
        '<form method="post" action="{}">'
        '<input type="hidden" name="csrf" value="{}"><button class="plain" type="submit">Sign out</button></form>'
    ).format(
        "/_purser/favicon.svg", caller.tenant, choices, caller.name, caller.role, SIGN_OUT, page_csrf(visit.request)
    )


def _links(current: str, pending: int | None) -> Markup:
    rows = []
    for name, path in NAVIGATION:
        badge = NOTHING
        if name == "Approvals" and pending:
            badge = Markup('<span class="badge" aria-label="{} pending">{}</span>').format(pending, exact(pending))
        here = Markup(' aria-current="page"') if name == current else NOTHING
        rows.append(Markup('<a href="{}"{}><span>{}</span>{}</a>').format(path, here, name, badge))
    return join(rows)
