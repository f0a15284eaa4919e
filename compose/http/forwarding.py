"""Requests for pages between the processes of one gateway: only the first process keeps pages that are open."""

from pathlib import Path
from typing import Any

import httpx
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from purser.gateway.access.authentication import API, HEALTH, READY, address
from purser.gateway.errors import GatewayStopping
from purser.gateway.http.problems import problem_of

CONNECT_S = 5.0
_CLIENT = (b"x-forwarded-for", b"x-forwarded-proto")
_CONNECTION = (b"connection", b"keep-alive", b"transfer-encoding", b"date", b"server")
"""Headers that each server writes for its own connections."""


class PagesElsewhere:
    """Passes requests for pages on to the process that keeps them; the API is answered here."""

    def __init__(self, app: ASGIApp, pages: Path) -> None:
        """Args:
        app: application of the API.
        pages: socket of the process that keeps the pages.
        """
        self._app = app
        self._client = httpx.AsyncClient(
            transport=httpx.AsyncHTTPTransport(uds=str(pages), limits=httpx.Limits(max_connections=None)),
            timeout=httpx.Timeout(None, connect=CONNECT_S),  # a stream of updates stays open
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or API.fullmatch(scope["path"]) or scope["path"] in (HEALTH, READY):
            await self._app(scope, receive, send)
            return
        try:
            async with self._client.stream(**_forwarded(Request(scope, receive))) as answer:
                response = StreamingResponse(answer.aiter_raw(), answer.status_code)
                headers = [(name.lower(), value) for name, value in answer.headers.raw]
                response.raw_headers = [header for header in headers if header[0] not in _CONNECTION]
                await response(scope, receive, send)
        except httpx.ConnectError:  # it is being replaced
            problem = problem_of(GatewayStopping())
            assert problem is not None
            await problem.response()(scope, receive, send)


def _forwarded(request: Request) -> dict[str, Any]:
    """The same request for another process, which learns address and scheme of the client."""
    passed = [header for header in request.headers.raw if header[0] not in (*_CLIENT, *_CONNECTION)]
    client = (address(request.scope).encode(), request.url.scheme.encode())
    has_body = "content-length" in request.headers or "transfer-encoding" in request.headers
    query = request.scope["query_string"]
    return {
        "method": request.method,
        "url": "http://pages",  # only for the client: no URL of it takes every path that a server does
        "headers": [*passed, *zip(_CLIENT, client, strict=True)],
        "content": request.stream() if has_body else None,
        "extensions": {"target": request.scope["raw_path"] + (b"?" + query if query else b"")},
    }
