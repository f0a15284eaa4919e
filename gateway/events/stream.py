"""The response of an event stream: two tasks for each open stream, where `sse_starlette` starts five.

Thousands may be open, and a full garbage collection stops all requests for a time proportional to their objects.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AbstractContextManager, aclosing

import structlog
from sse_starlette.event import ServerSentEvent
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

HEARTBEAT_S = 10
"""Seconds between keep-alive comments; sending one checks the key again."""
SEND_TIMEOUT_S = 30
"""Seconds after which a client that reads nothing is disconnected; it can resume where it left off."""

log = structlog.get_logger(__name__)


class EventStream(StreamingResponse):
    """Server-sent events to one client, until it disconnects, stops reading, or the events end."""

    media_type = "text/event-stream"

    def __init__(self, content: AsyncGenerator[bytes, None], place: AbstractContextManager[None]) -> None:
        """Args:
        content: encoded events; one item may hold several.
        place: entered for the duration of the response; may raise before it starts.
        """
        super().__init__(content, headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        self._content = content
        self._place = place

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._place:
            try:
                async with asyncio.TaskGroup() as tasks:
                    watching = tasks.create_task(_watch(receive, send))
                    await self._send_all(send)
                    watching.cancel()
            except* _Disconnected:
                pass
            except* _Stalled:
                log.info("event stream closed: the client does not read", seconds=SEND_TIMEOUT_S)

    async def _send_all(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        async with aclosing(self._content) as content:
            async for events in content:
                await _send(send, events)
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def encode(*, event: str, data: str, position: int | None = None) -> bytes:
    """Encodes one event."""
    name = None if position is None else str(position)
    return ServerSentEvent(data, event=event, id=name, sep="\n").encode()


def comment(text: str, *, retry_ms: int | None = None) -> bytes:
    """Encodes a comment, which clients ignore, and the delay before they reconnect."""
    return ServerSentEvent(comment=text, retry=retry_ms, sep="\n").encode()


class _Disconnected(Exception):
    """The client has disconnected."""


class _Stalled(Exception):
    """The client has read nothing for `SEND_TIMEOUT_S`."""


async def _watch(receive: Receive, send: Send) -> None:
    """Sends heartbeats; raises `_Disconnected` once the client is gone."""
    alive = comment("alive")
    while True:
        try:
            async with asyncio.timeout(HEARTBEAT_S):
                while (await receive())["type"] != "http.disconnect":
                    pass
        except TimeoutError:
            await _send(send, alive)
        else:
            raise _Disconnected


async def _send(send: Send, body: bytes) -> None:
    try:
        async with asyncio.timeout(SEND_TIMEOUT_S):
            await send({"type": "http.response.body", "body": body, "more_body": True})
    except TimeoutError:
        raise _Stalled from None
