"""What surrounds every page: header, navigation, who is signed in, and the line that tells of trouble."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from markupsafe import Markup
from nicegui import ui

from purser.gateway.access.auth import page_csrf
from purser.gateway.dashboard import live
from purser.gateway.dashboard.components import component, render
from purser.gateway.dashboard.region import Region
from purser.gateway.dashboard.visit import Visit

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
    css, script = (f"{at}/{name}?v={_digest(assets / name)}" for name in ("purser.css", "purser.js"))
    return render("head.html", css=css, script=script)


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()[:12]


@contextmanager
def frame(title: str, visit: Visit) -> Iterator[None]:
    """Everything around a page; what is built inside stands in its main part.

    Args:
        title: the page's name in the navigation.
        visit: who looks.
    """

    def links(pending: int | None) -> Markup:
        return render("navigation.html", pages=NAVIGATION, current=title, pending=pending)

    content = ui.context.client.content.classes("shell")
    # The library makes the whole page its main part; ours is smaller.
    assert content.parent_slot is not None
    content.parent_slot.parent.tag = "div"
    Region(
        render("header.html", caller=visit.caller, themes=_THEMES, sign_out=SIGN_OUT, csrf=page_csrf(visit.request)),
        "header",
    ).classes("top")
    navigation = Region(links(None), "nav").classes("side").props('aria-label="Pages"')
    with ui.element("div").classes("page"):
        trouble = Region().classes("trouble").props("role=status")
        live.begin(visit, trouble)
        with ui.element("main").classes("main").props('id="main" tabindex="-1"'):
            Region(component("title", title)).classes("title")
            yield
    ui.run_javascript(
        f"window.purser?.set({datetime.now(UTC).isoformat()!r});"
        "document.querySelector('.side [aria-current]')?.scrollIntoView({block: 'nearest', inline: 'center'})"
    )

    client = ui.context.client

    async def count() -> None:
        pending = await visit.services.queue.count(visit.tenant)
        navigation.show(links(pending))
        with client:
            ui.page_title(f"({pending}) {title} · Purser" if pending else f"{title} · Purser")

    live.start(("approval",), count)


def error(title: str, text: str) -> None:
    """A calm statement in place of a page's content."""
    Region(component("error", title, text))
