"""A page's socket belongs to the browser session that opened the page.

NiceGUI takes whoever knows the id of a page for its owner. That id stands in addresses, which proxies log, and a page
acts as the caller who opened it: without this, any other sign-in, of another tenant too, could look on and act for
them.
"""

from collections.abc import Awaitable, Callable, Mapping
from inspect import isawaitable
from typing import Any
from urllib.parse import parse_qs

from nicegui import Client, core
from socketio.exceptions import ConnectionRefusedError as Refused  # type: ignore[import-untyped]

from purser.gateway.access.auth import browser_session
from purser.gateway.postgres.browser_sessions import BrowserSession

NAMED = ("handshake", "event", "javascript_response", "ack", "log")
"""Messages that name a page."""

Handler = Callable[..., Any]


def bind() -> None:
    """Puts the check before all that NiceGUI hears. Once a process."""
    # Pages use sockets only; what polls would be a second door.
    core.sio.eio.transports = ["websocket"]
    handlers: dict[str, Handler] = core.sio.handlers["/"]
    handlers["connect"] = _connecting(handlers["connect"])
    for name in NAMED:
        handlers[name] = _named(handlers[name])


def _connecting(handler: Handler) -> Callable[..., Awaitable[Any]]:
    async def connect(sid: str, environ: Mapping[str, Any], auth: object = None) -> Any:
        ids = parse_qs(environ.get("QUERY_STRING", "")).get("client_id", [])
        if not all(_is_own(environ, client_id) for client_id in ids):
            raise Refused("the page is another session's")
        return await _answer(handler(sid, environ, auth))

    return connect


def _named(handler: Handler) -> Callable[..., Awaitable[Any]]:
    async def hear(sid: str, message: object) -> Any:
        client_id = message.get("client_id") if isinstance(message, dict) else None
        if not isinstance(client_id, str) or not _is_own(core.sio.get_environ(sid) or {}, client_id):
            return False
        return await _answer(handler(sid, message))

    return hear


async def _answer(given: Any) -> Any:
    return await given if isawaitable(given) else given


def _is_own(environ: Mapping[str, Any], client_id: str) -> bool:
    """Whether the page was opened by the session whose socket this is. A page that nobody opened says nothing."""
    client = Client.instances.get(client_id)
    opened = None if client is None else browser_session(client.request)
    if opened is None:
        return True
    own: BrowserSession | None = environ.get("asgi.scope", {}).get("state", {}).get("browser")
    return own is not None and own.session_id == opened.session_id
