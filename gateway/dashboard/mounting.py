"""NiceGUI inside the gateway: which requests go to it, what they find there, when it starts and stops.

NiceGUI is one application per process. What a page works with therefore travels with its request, in the ASGI scope.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exception_handlers import http_exception_handler
from nicegui import app as nicegui_app
from nicegui import ui
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.routing import Match, Mount
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from purser.gateway.dashboard import shell, sockets
from purser.gateway.dashboard.pages import load_pages, missing_page, page_paths
from purser.gateway.dashboard.visit import STATE, Dashboard
from purser.gateway.services import Services

ASSETS = Path(__file__).parent / "assets"
ASSETS_AT = "/_purser"
RECONNECT_WITHIN_S = 30.0
"""How long a page whose connection broke finds everything as it left it."""
POLICY = "; ".join(
    (
        "default-src 'self'",
        # Vue compiles templates in the browser.
        "script-src 'self' 'unsafe-inline' 'unsafe-eval'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data:",
        "font-src 'self' data:",
        "base-uri 'none'",
        "object-src 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
_LOADED = {ASSETS_AT[1:], "_nicegui", "_nicegui_ws", "favicon.ico"}
"""First parts of the paths of what pages load."""
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
}


def mount_pages(app: FastAPI, services: Services, temporal_ui: str | None) -> None:
    """As `purser.gateway.dashboard.mount`."""
    host = _host()
    app.router.routes.append(_Pages(_Carrying(host, Dashboard(services, temporal_ui))))
    outer = app.router.lifespan_context

    @asynccontextmanager
    async def lifespan(running: FastAPI) -> AsyncIterator[Any]:
        async with host.router.lifespan_context(host), outer(running) as state:
            yield state

    app.router.lifespan_context = lifespan


@cache
def _host() -> FastAPI:
    """An application around NiceGUI, the only one of this process."""
    load_pages()
    nicegui_app.add_static_files(ASSETS_AT, ASSETS, max_cache_age=3600)
    # The dashboard speaks WebSocket only: a page that polls would post bodies that the gateway takes nowhere else.
    nicegui_app.config.socket_io_js_transports = ["websocket"]
    # A bar across the top for each request says nothing that the page does not.
    nicegui_app.config.quasar_config["loadingBar"]["skipHijack"] = True
    ui.add_head_html(shell.head(ASSETS, ASSETS_AT), shared=True)
    nicegui_app.exception_handler(HTTPStatus.NOT_FOUND)(_not_found)
    host = FastAPI(openapi_url=None)
    ui.run_with(
        host,
        title="Purser",
        favicon=ASSETS / "favicon.svg",
        dark=None,
        language="en-US",
        binding_refresh_interval=None,
        reconnect_timeout=RECONNECT_WITHIN_S,
        tailwind=False,
        show_welcome_message=False,
    )
    sockets.bind()
    return host


async def _not_found(request: Request, error: Exception) -> Response:
    """A page for people; a plain answer for what a page loads."""
    assert isinstance(error, HTTPException)
    if request.url.path.split("/")[1] in _LOADED:
        return await http_exception_handler(request, error)
    return missing_page(request)


class _Pages(Mount):
    """The paths of pages and of what they load. An unknown path is theirs if a browser asks for a document there;
    unknown paths of the API stay the API's."""

    def __init__(self, app: ASGIApp) -> None:
        super().__init__("", app, name="dashboard")
        self._own = {path.split("/")[1] for path in page_paths()} | _LOADED

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        if scope["type"] not in ("http", "websocket"):
            return Match.NONE, {}
        first = scope["path"].split("/")[1]
        if first not in self._own and (first == "v1" or not _wants_document(scope)):
            return Match.NONE, {}
        return super().matches(scope)


def _wants_document(scope: Scope) -> bool:
    return scope.get("method") == "GET" and "text/html" in Headers(scope=scope).get("accept", "")


class _Carrying:
    """Hands services to pages, and adds headers that keep browsers strict."""

    def __init__(self, app: ASGIApp, dashboard: Dashboard) -> None:
        self._app = app
        self._dashboard = dashboard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[STATE] = self._dashboard

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        await self._app(scope, receive, guarded)
