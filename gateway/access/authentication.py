"""Finds out who calls, before anything of a body is read. What nobody exempted is closed."""

import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from urllib.parse import quote

from starlette.datastructures import Headers
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from purser.budget.errors import LedgerUnavailable
from purser.gateway.access.browsers import CSRF_HEADER, cookie_of, is_csrf_token, is_own_page, local_path
from purser.gateway.access.roles import Permission, Principal
from purser.gateway.errors import Forbidden, ForgedRequest, Unauthenticated
from purser.gateway.http.rate_limits import Limits
from purser.gateway.postgres.browser_sessions import BrowserSession, BrowserSessions
from purser.gateway.postgres.keys import Keys

API = re.compile(r"/v1(/.*)?", re.DOTALL)
SIGN_IN = "/sign-in"
HEALTH = "/healthz"
OPEN = frozenset({HEALTH, "/readyz", "/openapi.json", SIGN_IN, "/favicon.ico"})
"""Paths for everybody."""
DOCS = re.compile(r"/docs(/.*)?", re.DOTALL)
"""The documentation: it holds no secret."""
ASSETS = re.compile(r"/_purser/assets/.+")
"""Files that pages load, the same for everybody who installs Purser."""
LIVE = "/_purser/"
"""What pages ask for by themselves: there is no use in sending that to the sign-in page."""
SAFE = ("GET", "HEAD", "OPTIONS")
RECHECK_S = 5.0
"""A stream is asked for its key again after so long: it may have been revoked."""


@dataclass(frozen=True, slots=True)
class _Visit:
    """Who came, and how to ask again."""

    caller: Principal
    browser: BrowserSession | None
    again: Callable[[], Awaitable[object | None]]


class Authentication:
    """Under `/v1` a bearer key or a browser session; everywhere else a browser session."""

    def __init__(self, app: ASGIApp, keys: Keys, sessions: BrowserSessions, limits: Limits) -> None:
        self._app = app
        self._keys = keys
        self._sessions = sessions
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if _is_open(scope):
            if scope["path"] in OPEN - {HEALTH}:
                await self._limits.stranger(address(scope))
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if API.fullmatch(scope["path"]):
            visit = await self._caller(scope, headers)
        else:
            found = await self._visitor(scope, headers)
            if found is None:
                await self._limits.stranger(address(scope))
                await _turn_away(scope, receive, send)
                return
            visit = found
        await self._limits.request(visit.caller)
        scope.setdefault("state", {}).update(caller=visit.caller, browser=visit.browser)
        await self._app(scope, receive, _Line(send, visit.again).send)

    async def _caller(self, scope: Scope, headers: Headers) -> _Visit:
        """Who calls the API."""
        authorization = headers.get("authorization")
        if authorization is None and (cookie := cookie_of(headers)) is not None:
            browser = await self._sessions.find(cookie)
            if browser is not None:
                if scope["method"] not in SAFE and not is_csrf_token(headers.get(CSRF_HEADER, ""), cookie):
                    raise ForgedRequest(f"a browser session changes nothing without the header {CSRF_HEADER}")
                return _Visit(browser.caller, browser, lambda: self._sessions.find(cookie))
        scheme, _, secret = (authorization or "").partition(" ")
        secret = secret.strip()
        if scheme.lower() == "bearer" and secret:
            caller = await self._keys.find(secret)
            if caller is not None:
                return _Visit(caller, None, lambda: self._keys.find(secret))
            await self._limits.failure(address(scope))
        else:
            await self._limits.stranger(address(scope))
        raise Unauthenticated("no live key came with the request: send `Authorization: Bearer …`")

    async def _visitor(self, scope: Scope, headers: Headers) -> _Visit | None:
        """Who looks at a page; `None`: nobody who signed in."""
        if scope["method"] not in SAFE and not is_own_page(headers):
            raise ForgedRequest("the request comes from a page of another address")
        cookie = cookie_of(headers)
        browser = None if cookie is None else await self._sessions.find(cookie)
        if browser is None or cookie is None:
            return None
        if not browser.caller.may(Permission.READ):
            raise Forbidden(f"role {str(browser.caller.role)!r} opens no pages: sign in with another key")
        return _Visit(browser.caller, browser, lambda: self._sessions.find(cookie))


class _Line:
    """A stream that ends soon after its key or session does, however long it is open."""

    def __init__(self, send: Send, again: Callable[[], Awaitable[object | None]]) -> None:
        self._send = send
        self._again = again
        self._checked = time.monotonic()
        self._cut = False

    async def send(self, message: Message) -> None:
        if self._cut:
            return
        is_more = message["type"] == "http.response.body" and message.get("more_body", False)
        if is_more and await self._is_over():
            self._cut = True
            message = {"type": "http.response.body", "body": b"", "more_body": False}
        await self._send(message)

    async def _is_over(self) -> bool:
        now = time.monotonic()
        if now - self._checked < RECHECK_S:
            return False
        self._checked = now
        try:
            return await self._again() is None
        except Unauthenticated:
            return True
        except LedgerUnavailable:  # nothing is read or changed without it: the page stays, and says so
            return False


def address(scope: Scope) -> str:
    """Where a request comes from, as the server sees it."""
    client = scope.get("client")
    return client[0] if client else ""


def _is_open(scope: Scope) -> bool:
    path: str = scope["path"]
    reads = scope["method"] in ("GET", "HEAD")
    return path in OPEN or (reads and any(open_path.fullmatch(path) for open_path in (ASSETS, DOCS)))


async def _turn_away(scope: Scope, receive: Receive, send: Send) -> None:
    """Sends people to the sign-in page; whatever else came gets an error."""
    if Headers(scope=scope).get("accept") == "text/event-stream":  # anything else, and browsers ask again for ever
        await Response(status_code=204)(scope, receive, send)
        return
    if scope["path"].startswith(LIVE):
        raise Unauthenticated("nobody is signed in: open /sign-in")
    if scope["method"] not in SAFE:
        await RedirectResponse(SIGN_IN, 303)(scope, receive, send)
        return
    query = scope["query_string"].decode("latin-1")
    wanted = local_path(scope["path"] + (f"?{query}" if query else ""))
    await RedirectResponse(f"{SIGN_IN}?next={quote(wanted, safe='/')}", 303)(scope, receive, send)
