"""A client that costs little: it has the processor in common with the gateway that it measures.

A general client takes more processor time for a request than the gateway does, and sends headers and body apart, which
wakes the gateway twice.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httptools
import msgspec

TIMEOUT_S = 30


@dataclass(frozen=True, slots=True)
class Answer:
    """A response."""

    status: int
    content: bytes

    def json(self) -> Any:
        """Its JSON value."""
        return msgspec.json.decode(self.content)


class Connections:
    """Connections to one gateway that stay open. A request takes a free one, or waits for it."""

    def __init__(self, url: str, key: str, free: "asyncio.Queue[_Connection]") -> None:
        self._free = free
        self._head = (
            f"Host: {urlsplit(url).netloc}\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n"
        )

    async def request(self, method: str, path: str, body: object = None) -> Answer:
        """Sends a request with a JSON body, or with none.

        Raises:
            ConnectionError: the gateway closed the connection.
            TimeoutError: there is no answer.
        """
        content = b"" if body is None else msgspec.json.encode(body)
        head = f"{method} {path} HTTP/1.1\r\n{self._head}Content-Length: {len(content)}\r\n\r\n"
        connection = await self._free.get()
        try:
            async with asyncio.timeout(TIMEOUT_S):
                return await connection.answered(head.encode("ascii") + content)
        except BaseException:
            connection.close()  # a later answer is none to the next request
            raise
        finally:
            self._free.put_nowait(connection)


@asynccontextmanager
async def open_connections(url: str, key: str, count: int) -> AsyncIterator[Connections]:
    """Opens so many connections, and closes them at the end."""
    loop = asyncio.get_running_loop()
    host, _, port = urlsplit(url).netloc.rpartition(":")
    opened = [(await loop.create_connection(_Connection, host, int(port)))[1] for _ in range(count)]
    free: asyncio.Queue[_Connection] = asyncio.Queue()
    for connection in opened:
        free.put_nowait(connection)
    try:
        yield Connections(url, key, free)
    finally:
        for connection in opened:
            connection.close()


class _Connection(asyncio.Protocol):
    """One connection, with one request at a time."""

    def __init__(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._blocks: list[bytes] = []
        self._answer: asyncio.Future[Answer] | None = None
        self._is_open = True

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_open = False
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(ConnectionResetError("the gateway closed the connection"))

    async def answered(self, request: bytes) -> Answer:
        if not self._is_open:
            raise ConnectionResetError("the gateway closed the connection")
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._answer

    def close(self) -> None:
        self._is_open = False
        self._transport.close()

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_begin(self) -> None:
        self._blocks = []

    def on_body(self, body: bytes) -> None:
        self._blocks.append(body)

    def on_message_complete(self) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(Answer(self._parser.get_status_code(), b"".join(self._blocks)))
