"""A server on loopback that sends raw bytes, including what a provider must not send."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

Answer = Callable[["RawServer", asyncio.StreamWriter], Awaitable[None]]
_serving = set[asyncio.Future[object]]()
"""Handlers, which may outlive their test: the event loop alone does not keep them from being collected."""


@dataclass
class RawServer:
    """What one server received and sent."""

    port: int = 0
    requests: list[bytes] = field(default_factory=list)
    """Head and body of each."""
    sent: int = 0
    """Bytes sent."""
    connections: int = 0
    """Connections so far."""
    open: list[asyncio.StreamWriter] = field(default_factory=list)
    """Connections that have not ended."""
    stop_listening: Callable[[], None] = lambda: None
    """Refuses further connections from then on."""
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once a client hung up while it was being answered."""

    @property
    def api_base(self) -> str:
        """Address of the OpenAI-compatible API."""
        return f"http://127.0.0.1:{self.port}/v1"

    async def hang_up(self) -> None:
        """Closes all connections, and returns once clients can see that."""
        closing = [*self.open]
        for writer in closing:
            writer.close()
        for writer in closing:
            await writer.wait_closed()

    async def send(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        """Sends bytes and waits until there is room for more."""
        writer.write(data)
        await writer.drain()
        self.sent += len(data)


@asynccontextmanager
async def raw_server(answer: Answer, *, keeps: bool = False) -> AsyncIterator[RawServer]:
    """A server that reads one request of each connection and answers it; or, if it `keeps` connections, all of them."""
    made = RawServer()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if task := asyncio.current_task():
            _serving.add(task)
            task.add_done_callback(_serving.discard)
        made.connections += 1
        made.open.append(writer)
        try:
            await serve_one(reader, writer)
            while keeps:
                await serve_one(reader, writer)
        except OSError:
            made.gone.set()
        except asyncio.IncompleteReadError:
            pass
        finally:
            made.open.remove(writer)
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def serve_one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next((int(line[15:]) for line in head.lower().split(b"\r\n") if line[:15] == b"content-length:"), 0)
        made.requests.append(head + await reader.readexactly(length))
        await answer(made, writer)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    made.stop_listening = server.close
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()


def replies(body: bytes, content_type: str = "text/event-stream", status: str = "200 OK", more: str = "") -> Answer:
    """Answers with this body and closes the connection."""

    async def answer(server: RawServer, writer: asyncio.StreamWriter) -> None:
        head = f"HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\n{more}connection: close\r\n\r\n"
        await server.send(writer, head.encode() + body)

    return answer


def streams(body: bytes, *, ends: bool = True) -> Answer:
    """Answers with this stream, whose end, if it has one, follows a moment later; the connection stays open."""

    async def answer(server: RawServer, writer: asyncio.StreamWriter) -> None:
        head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        await server.send(writer, head + b"%x\r\n%b\r\n" % (len(body), body))
        if ends:
            await asyncio.sleep(0.01)
            await server.send(writer, b"0\r\n\r\n")

    return answer


def endless(piece: bytes, content_type: str = "text/event-stream", status: str = "200 OK") -> Answer:
    """Answers with one piece again and again, for as long as it is read."""

    async def answer(server: RawServer, writer: asyncio.StreamWriter) -> None:
        await server.send(writer, f"HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\n\r\n".encode())
        while True:
            await server.send(writer, piece)

    return answer
