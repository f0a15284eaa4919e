"""What every request passes before it reaches its endpoint, outermost first: `Boundary`, `Authentication`, `Intake`."""

import logging
import re
from time import perf_counter

import structlog
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from budget.errors import NotFound
from gateway.errors import BodyRefused, Unauthenticated
from gateway.metrics import Metrics
from gateway.postgres.keys import Keys
from gateway.problems import fault, problem_of

API = "/v1/"
MAX_BODY = 16 * 2**20
"""Bytes of a request body at most; a task with its documents is the largest."""

_log = structlog.get_logger(__name__)


JSON = "application/json"
JSON_LINES = ("application/jsonl", "application/x-ndjson")
"""What takes and gives a conversation one message a line."""
IMPORT = re.compile(r"/v1/sessions/[^/]+/messages")
"""Where bodies may be JSON lines."""


class Boundary:
    """Counts and logs each request, and answers every error with a problem. Logs hold no body, query or header."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = perf_counter(), 0

        async def watch(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, watch)
        except Exception as error:
            if status:  # too late for another answer: the server breaks the connection off
                raise
            problem = problem_of(error)
            if problem is None:
                _log.error("request failed", error=type(error).__name__, at=_origin(error))
            await (problem or fault()).response()(scope, receive, watch)
        finally:
            route = getattr(scope.get("route"), "path", "none")
            self._metrics.answered(scope["method"], route, status)
            ms = round((perf_counter() - began) * 1_000)
            _log.log(_level(status), "request", method=scope["method"], route=route, status=status, ms=ms)


class Authentication:
    """Finds out who calls, before anything of the body is read. No endpoint under `/v1` can forget it."""

    def __init__(self, app: ASGIApp, keys: Keys) -> None:
        self._app = app
        self._keys = keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith(API):
            scheme, _, secret = Headers(scope=scope).get("authorization", "").partition(" ")
            caller = await self._keys.find(secret.strip()) if scheme.lower() == "bearer" and secret else None
            if caller is None:
                raise Unauthenticated("no live key came with the request: send `Authorization: Bearer …`")
            scope.setdefault("state", {})["caller"] = caller
        await self._app(scope, receive, send)


class Intake:
    """Takes in paths that can be looked up, and bodies of up to `MAX_BODY` bytes of JSON."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and "\0" in scope["path"]:
            raise NotFound("the path holds a NUL character, which no id does")
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD"):
            await self._app(scope, receive, send)
            return
        body = await _read(receive)
        media_type = Headers(scope=scope).get("content-type", "").partition(";")[0].strip().lower()
        taken = (JSON, *JSON_LINES) if IMPORT.fullmatch(scope["path"]) else (JSON,)
        if body and media_type not in taken:
            raise BodyRefused(f"content type {media_type[:80]!r} is not taken: send {' or '.join(taken)}", status=415)
        replayed = False

        async def replay() -> Message:
            nonlocal replayed
            if replayed:
                return await receive()
            replayed = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self._app(scope, replay, send)


async def _read(receive: Receive) -> bytes:
    chunks, size, more = [], 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            break
        chunks.append(message.get("body", b""))
        size += len(chunks[-1])
        if size > MAX_BODY:
            raise BodyRefused(f"the body is larger than {MAX_BODY} bytes: send less", status=413)
        more = message.get("more_body", False)
    return b"".join(chunks)


def _level(status: int) -> int:
    """A good answer is worth a line only to somebody who looks for it."""
    return logging.WARNING if status >= 500 else logging.INFO if status >= 400 else logging.DEBUG


def _origin(error: BaseException) -> str:
    """File and line that raised: the message may hold what the caller sent."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
