"""The frame of every page: header, navigation, the signed-in user, and the banner for failures."""

from datetime import UTC, datetime

from fastapi import Response
from fastapi.responses import HTMLResponse
from markupsafe import Markup

from purser.gateway.access.browsers import csrf_token
from purser.gateway.access.roles import Permission
from purser.gateway.dashboard.components import component, render
from purser.gateway.dashboard.live import Live
from purser.gateway.dashboard.serving.asset_files import ASSETS_AT

SIGN_OUT = "/sign-out"
NAVIGATION = (
    ("Overview", "/overview", Permission.READ),
    ("Approvals", "/approvals", Permission.READ),
    ("Budgets", "/budgets", Permission.READ),
    ("Tasks", "/tasks", Permission.READ_WORK),
    ("Sessions", "/sessions", Permission.READ_WORK),
    ("Ledger", "/ledger", Permission.READ),
    ("Changes", "/changes", Permission.READ),
    ("Keys", "/keys", Permission.MANAGE_KEYS),
    ("Webhooks", "/webhooks", Permission.MANAGE_WEBHOOKS),
    ("Health", "/health", Permission.READ),
    ("Search", "/search", Permission.READ),
)
"""Name and path of each page in the navigation, and the permission without which it is left out."""
_THEMES = (("auto", "Auto", "As your system"), ("light", "Light", "Light colours"), ("dark", "Dark", "Dark colours"))
POLICY = "; ".join(
    (
        "default-src 'self'",
        "style-src 'self'",
        "style-src-attr 'unsafe-inline'",  # positions and widths of bars
        "img-src 'self' data:",
        "base-uri 'none'",
        "object-src 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Frame:
    """The frame of one page."""

    def __init__(self, title: str, live: Live) -> None:
        """Args:
        title: the page's name in the navigation.
        live: keeps the page up to date.
        """
        self._title = title
        self._live = live
        self._navigation = live.visit.screen.region(self._links(None))
        live.start(("approval",), self._count)

    def around(self, main: Markup, status: int = 200) -> Response:
        """The whole page.

        Args:
            main: the current content: nothing may be awaited between rendering it and this call.
            status: HTTP status of the answer.
        """
        visit = self._live.visit
        document = render(
            "shell.html",
            title=self._title,
            assets=ASSETS_AT,
            page_id=visit.page.page_id,
            number=visit.screen.number,
            csrf=csrf_token(visit.session.secret),
            now=datetime.now(UTC),
            caller=visit.caller,
            themes=_THEMES,
            sign_out=SIGN_OUT,
            navigation=self._navigation,
            trouble=self._live.trouble,
            main=main,
        )
        return HTMLResponse(document, int(status), _HEADERS)

    def _links(self, pending: int | None) -> Markup:
        caller = self._live.visit.caller
        pages = [(name, path) for name, path, needs in NAVIGATION if caller.may(needs)]
        return render("navigation.html", pages=pages, current=self._title, pending=pending)

    async def _count(self) -> None:
        visit = self._live.visit
        pending = await visit.services.queue.count(visit.tenant)
        self._navigation.show(self._links(pending))
        visit.screen.title(f"({pending}) {self._title} · Purser" if pending else f"{self._title} · Purser")


def error(title: str, text: str) -> Markup:
    """An error message in place of a page's content."""
    return component("error", title, text)
