"""Authenticates callers before any of the body is read. Paths that are not exempt require authentication."""

import re
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import quote

from starlette.datastructures import Headers
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from purser.budget.errors import LedgerUnavailable
from purser.gateway.access.browsers import CSRF_HEADER, cookie_of, is_csrf_token, is_own_page, local_path
from purser.gateway.access.roles import Permission, Principal
from purser.gateway.errors import Forbidden, ForgedRequest, Unauthenticated
from purser.gateway.http.limits import Limits
from purser.gateway.postgres.browser_sessions import BrowserSession, BrowserSessions
from purser.gateway.postgres.keys import Keys

API = re.compile(r"/(v1|openai/v1|anthropic/v1)(/.*)?", re.DOTALL)
"""The API, and the protocols of providers."""
SIGN_IN = "/sign-in"
HEALTH = "/healthz"
READY = "/readyz"
OPEN = frozenset({HEALTH, READY, "/openapi.json", SIGN_IN, "/favicon.ico"})
"""Public paths."""
DOCS = re.compile(r"/docs(/.*)?", re.DOTALL)
"""The documentation, which is public."""
ASSETS = re.compile(r"/_purser/assets/.+")
"""Static files of pages, which are public."""
LIVE = "/_purser/"
"""Background requests of pages, which are not redirected to the sign-in page."""
SAFE = ("GET", "HEAD", "OPTIONS")
RECHECK_S = 5.0
"""Seconds after which the key of a stream is checked again: it may have been revoked or changed."""


@dataclass(frozen=True, slots=True)
class _Authenticated:
    """An authenticated caller, and how to look again who it is; `None`: it is not live any more."""

    caller: Principal
    browser: BrowserSession | None
    recheck: Callable[[], Awaitable[Principal | None]]


class Authentication:
    """Middleware: requires a bearer key or a browser session under `/v1`, and a browser session everywhere else."""

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
                await self._limits.anonymous(address(scope))
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if API.fullmatch(scope["path"]):
            found: _Authenticated | None = await self._api_caller(scope, headers)
        else:
            found = await self._page_caller(scope, headers)
        if found is None:
            await self._limits.anonymous(address(scope))
            await _reject_anonymous(scope, receive, send)
            return
        await self._limits.request(found.caller)
        stream = _RevocableStream(send, found)
        state = {"caller": found.caller, "browser": found.browser, "key_ended": stream.is_over}
        scope.setdefault("state", {}).update(state)
        await self._app(scope, receive, stream.send)

    async def _api_caller(self, scope: Scope, headers: Headers) -> _Authenticated:
        """The caller of the API; raises `Unauthenticated`."""
        authorization = headers.get("authorization")
        if authorization is None and (cookie := cookie_of(headers)) is not None:
            browser = await self._sessions.find(cookie)
            if browser is not None:
                if scope["method"] not in SAFE and not is_csrf_token(headers.get(CSRF_HEADER, ""), cookie):
                    raise ForgedRequest(f"a browser session changes nothing without the header {CSRF_HEADER}")
                return self._signed_in(browser)
        if authorization is None and (key := headers.get("x-api-key")) is not None:
            authorization = f"Bearer {key}"  # as clients of Anthropic send it
        scheme, _, secret = (authorization or "").partition(" ")
        secret = secret.strip()
        if scheme.lower() != "bearer" or not secret:
            await self._limits.anonymous(address(scope))
            raise Unauthenticated("no live key came with the request: send `Authorization: Bearer …`")
        caller = await self._keys.leased(secret) or await self._keys.find(secret)
        if caller is not None:
            return _Authenticated(caller, None, lambda: self._keys.find(secret))
        await self._limits.failure(address(scope))
        raise Unauthenticated(
            "the key that came with the request is not live: it is mistyped, revoked, or of another gateway"
        )

    async def _page_caller(self, scope: Scope, headers: Headers) -> _Authenticated | None:
        """The caller of a page; `None` if it is not signed in."""
        if scope["method"] not in SAFE and not is_own_page(headers):
            raise ForgedRequest("the request comes from a page of another address")
        cookie = cookie_of(headers)
        if cookie is None or (browser := await self._sessions.find(cookie)) is None:
            return None
        if not browser.caller.may(Permission.READ):
            raise Forbidden(f"role {str(browser.caller.role)!r} opens no pages: sign in with another key")
        return self._signed_in(browser)

    def _signed_in(self, browser: BrowserSession) -> _Authenticated:
        async def recheck() -> Principal | None:
            found = await self._sessions.find(browser.secret)
            return None if found is None else found.caller

        return _Authenticated(browser.caller, browser, recheck)


class _RevocableStream:
    """A response that ends soon after its key or session ends or has another role, however long it has been open."""

    def __init__(self, send: Send, opened: _Authenticated) -> None:
        self._send = send
        self._opened = opened
        self._checked = time.monotonic()
        self._over = False
        self._cut = False

    async def send(self, message: Message) -> None:
        if self._cut:
            return
        is_more = message["type"] == "http.response.body" and message.get("more_body", False)
        if is_more and await self.is_over():
            self._cut = True
            message = {"type": "http.response.body", "body": b"", "more_body": False}
        await self._send(message)

    async def is_over(self) -> bool:
        """Whether the key or session has ended or has another role; looks again every `RECHECK_S`."""
        now = time.monotonic()
        if self._over or now - self._checked < RECHECK_S:
            return self._over
        self._checked = now
        # Without the ledger nothing can be read or changed meanwhile: a page stays open and shows an error.
        with suppress(LedgerUnavailable):
            try:
                found = await self._opened.recheck()
                self._over = found is None or found.role is not self._opened.caller.role
            except Unauthenticated:
                self._over = True
        return self._over


def address(scope: Scope) -> str:
    """The client address of a request, as the server sees it."""
    client = scope.get("client")
    return client[0] if client else ""


def _is_open(scope: Scope) -> bool:
    path: str = scope["path"]
    reads = scope["method"] in ("GET", "HEAD")
    return path in OPEN or (reads and any(open_path.fullmatch(path) for open_path in (ASSETS, DOCS)))


async def _reject_anonymous(scope: Scope, receive: Receive, send: Send) -> None:
    """Redirects page requests to the sign-in page; other requests get an error."""
    if Headers(scope=scope).get("accept") == "text/event-stream":  # after any other status browsers reconnect forever
        await Response(status_code=204)(scope, receive, send)
        return
    if scope["path"].startswith(LIVE):
        raise Unauthenticated("not signed in: open /sign-in")
    if scope["method"] not in SAFE:
        await RedirectResponse(SIGN_IN, 303)(scope, receive, send)
        return
    query = scope["query_string"].decode("latin-1")
    wanted = local_path(scope["path"] + (f"?{query}" if query else ""))
    await RedirectResponse(f"{SIGN_IN}?next={quote(wanted, safe='/')}", 303)(scope, receive, send)
