"""Middleware in the order of application: `Boundary`, errors of the proxy, `StreamOpening`, authentication,
`RequestLimits`.

Errors of the proxy are in `purser.gateway.proxy.routes`, authentication is in `purser.gateway.access.authentication`.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import AsyncExitStack, ExitStack
from time import perf_counter

import structlog
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from purser.budget.errors import InvalidRequest, LedgerUnavailable, NotFound
from purser.gateway.access.authentication import API, SIGN_IN
from purser.gateway.errors import BodyRefused
from purser.gateway.http.bodies import MAX_BODY, MAX_FORM, MESSAGES, max_body
from purser.gateway.http.limits import Limits
from purser.gateway.http.problems import fault, problem_of
from purser.gateway.metrics.requests import Metrics

_log, _threshold = structlog.get_logger(__name__), logging.getLogger(__name__)


JSON = "application/json"
JSON_LINES = ("application/jsonl", "application/x-ndjson")
"""Media types of conversations with one message per line."""
FORM = "application/x-www-form-urlencoded"

EVENTS = "/v1/events"
MAX_OPENING = 4
"""Most event streams that are being opened at the same time."""


class Boundary:
    """Counts and logs each request, and maps errors to problems. Logs contain no body, query or header."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await observed(self._app, self._metrics, scope, receive, send)
        else:
            await self._app(scope, receive, send)


async def observed(app: ASGIApp, metrics: Metrics, scope: Scope, receive: Receive, send: Send) -> None:
    """Passes an HTTP request to `app`, and does what `Boundary` does."""
    began, status, seconds = perf_counter(), 0, None

    async def watch(message: Message) -> None:
        nonlocal status, seconds
        if message["type"] == "http.response.start":
            status, seconds = message["status"], perf_counter() - began
            _guard(scope, message)
        await send(message)

    try:
        await app(scope, receive, watch)
    except ClientDisconnect:
        pass  # nobody is left to answer
    except (Exception, asyncio.CancelledError) as error:
        if status:  # too late for another response: the server closes the connection
            raise
        if isinstance(error, LedgerUnavailable):
            metrics.calls.ledger_unavailable("http")
        problem = problem_of(error)
        if problem is None:
            _log.error("request failed", error=type(error).__name__, at=_origin(error))
        await (problem or fault()).response()(scope, receive, watch)
    finally:
        route = getattr(scope.get("route"), "path", "none")
        metrics.answered(scope["method"], route, status, seconds)
        level = _level(status)
        if _threshold.isEnabledFor(level):  # structlog compares levels only after it has made a logger and a line
            ms = round((perf_counter() - began) * 1_000)
            _log.log(level, "request", method=scope["method"], route=route, status=status, ms=ms)


class StreamOpening:
    """Opens event streams a few at a time: thousands at once would delay all other requests."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._turns = asyncio.Semaphore(MAX_OPENING)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != EVENTS:
            await self._app(scope, receive, send)
            return
        async with AsyncExitStack() as turn:
            await turn.enter_async_context(self._turns)

            async def watch(message: Message) -> None:
                await turn.aclose()  # before sending: a client that reads nothing of an earlier answer delays that
                await send(message)

            await self._app(scope, receive, watch)


class RequestLimits:
    """Rejects NUL characters in paths and queries, and bodies of a wrong media type or size or compressed ones."""

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self._app = app
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and "\0" in scope["path"]:
            raise NotFound("the path contains a NUL character, which no id does")
        if scope["type"] == "http" and b"%00" in scope["query_string"]:
            raise InvalidRequest("the query contains a NUL character: remove it")
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD"):
            await self._app(scope, receive, send)
            return
        most = MAX_FORM if scope["path"] == SIGN_IN else max_body(scope["path"])
        with ExitStack() as places:

            def on_large() -> None:
                places.enter_context(self._limits.large_body(scope["state"]["caller"]))

            scope.setdefault("state", {})["places"] = places
            await self._app(scope, _limited(scope, receive, most, on_large), send)


def _guard(scope: Scope, message: Message) -> None:
    """Adds headers that prevent caching and content sniffing."""
    headers = message["headers"] = list(message.get("headers", ()))
    names = {name for name, _ in headers}
    if b"x-content-type-options" not in names:
        headers.append((b"x-content-type-options", b"nosniff"))
    if b"cache-control" not in names and API.fullmatch(scope["path"]):
        headers.append((b"cache-control", b"no-store"))


def _limited(scope: Scope, receive: Receive, most: int, on_large: Callable[[], None]) -> Receive:
    """Wraps `receive`: accepts a body of at most `most` bytes and of an accepted media type.

    Calls `on_large` once, when the body turns out to be large.
    """
    headers, size, is_large = Headers(scope=scope), 0, False
    media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    coding = headers.get("content-encoding", "identity").strip().lower()
    length = headers.get("content-length", "")
    declared = int(length) if length.isdecimal() else 0
    accepted = _media_types(scope["path"])

    def check(found: int) -> None:
        nonlocal is_large
        if found > most:
            raise BodyRefused(f"the body is larger than {most} bytes: send less", status=413)
        if found > MAX_BODY and not is_large:
            on_large()
            is_large = True

    async def limited() -> Message:
        nonlocal size
        check(declared)
        message = await receive()
        size += len(message.get("body", b""))
        check(size)
        if size and coding != "identity":
            raise BodyRefused(f"content encoding {coding[:80]!r} is not accepted: send it uncompressed", status=415)
        if size and media_type not in accepted:
            raise BodyRefused(
                f"content type {media_type[:80]!r} is not accepted: send {' or '.join(accepted)}", status=415
            )
        return message

    return limited


def _media_types(path: str) -> tuple[str, ...]:
    if MESSAGES.fullmatch(path):
        return (JSON, *JSON_LINES)
    if API.fullmatch(path):
        return (JSON,)
    return (JSON, FORM)


def _level(status: int) -> int:
    """Log level by status: successful requests are logged at debug level only."""
    return logging.WARNING if status >= 500 else logging.INFO if status >= 400 else logging.DEBUG


def _origin(error: BaseException) -> str:
    """File and line that raised; the message is not logged, because it may contain what the caller sent."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
