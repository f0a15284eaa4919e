"""A proxy between a process and Postgres that parses just enough of the protocol to break off at a statement.

A trap names a statement. When it passes, the trap's action runs before the statement reaches the server, or after the
server has executed it and before the client receives the result. Then the connection breaks.
"""

import asyncio
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum
from urllib.parse import parse_qs, urlsplit


class When(Enum):
    """The moment of a statement at which a trap strikes."""

    BEFORE = "before"
    """The server never receives it."""
    AFTER = "after"
    """The server has executed it; the client receives no result."""


@dataclass
class Trap:
    """Breaks the connection at a statement, once."""

    statement: str
    """Part of the statement's text."""
    when: When
    action: Callable[[], Awaitable[object]]
    commit: bool = False
    """Strike at the COMMIT of the transaction that the statement is in."""
    sprung: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass
class Proxy:
    """A listening proxy."""

    dsn: str
    traps: list[Trap] = field(default_factory=list)

    def set(self, trap: Trap) -> Trap:
        """Arms a trap."""
        self.traps.append(trap)
        return trap


class _Sprung(Exception):
    """A trap struck: the connection breaks here."""


class _Session:
    """One connection of a client."""

    def __init__(self, traps: list[Trap]) -> None:
        self._traps = traps
        self._statements: dict[bytes, str] = {}
        self._committing: list[Trap] = []
        self._after: list[Trap] = []

    async def asked(self, kind: bytes, body: bytes) -> None:
        """Inspects a message of the client before it is forwarded."""
        if kind == b"P":
            name, query = body.split(b"\0")[:2]
            self._statements[name] = query.decode()
        elif kind == b"B":
            await self._runs(self._statements.get(body.split(b"\0")[1], ""))
        elif kind == b"Q":
            await self._runs(body.rstrip(b"\0").decode())

    async def answered(self, kind: bytes) -> None:
        """Inspects a message of the server before it is forwarded."""
        if kind == b"Z" and self._after and self._after[0] in self._traps:
            await self._spring(self._after[0])

    async def _runs(self, query: str) -> None:
        if query.upper().startswith("COMMIT"):
            await self._meets(self._committing)
        await self._meets([trap for trap in self._traps if trap.statement in query and not trap.commit])
        self._committing += [trap for trap in self._traps if trap.statement in query and trap.commit]

    async def _meets(self, traps: list[Trap]) -> None:
        for trap in traps:
            if trap not in self._traps:
                continue
            if trap.when is When.BEFORE:
                await self._spring(trap)
            self._after.append(trap)

    async def _spring(self, trap: Trap) -> None:
        self._traps.remove(trap)
        # The action itself may break the connection and cancel this task.
        await asyncio.shield(asyncio.create_task(_act(trap)))
        raise _Sprung


async def _act(trap: Trap) -> None:
    await trap.action()
    trap.sprung.set()


@asynccontextmanager
async def postgres_proxy(dsn: str) -> AsyncIterator[Proxy]:
    """Listens on loopback and forwards everything to the server of `dsn`, which listens on a Unix socket."""
    parts = urlsplit(dsn)
    socket = f"{parse_qs(parts.query)['host'][0]}/.s.PGSQL.5432"
    proxy = Proxy("")
    sessions: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        sessions.add(task)
        try:
            await _serve(reader, writer, socket, _Session(proxy.traps))
        except (OSError, asyncio.IncompleteReadError, _Sprung):
            pass
        finally:
            sessions.discard(task)
            await _closed(writer)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    proxy.dsn = f"postgresql://{parts.username or 'postgres'}@127.0.0.1:{port}{parts.path}?sslmode=disable"
    try:
        yield proxy
    finally:
        server.close()
        for task in list(sessions):
            task.cancel()
        await asyncio.gather(*sessions, return_exceptions=True)


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, socket: str, session: _Session) -> None:
    server_reader, server_writer = await asyncio.open_unix_connection(socket)
    try:
        size = await reader.readexactly(4)
        server_writer.write(size + await reader.readexactly(struct.unpack("!I", size)[0] - 4))
        pumps = [
            asyncio.create_task(_pump(reader, server_writer, session.asked)),
            asyncio.create_task(_pump(server_reader, writer, lambda kind, _: session.answered(kind))),
        ]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in pumps:
                task.cancel()
            # Both may have ended at once: both results are retrieved, or the loop logs the other's exception.
            results = await asyncio.gather(*pumps, return_exceptions=True)
        for result in results:
            if isinstance(result, Exception):
                raise result
    finally:
        await _closed(server_writer)


async def _closed(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()


async def _pump(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, look: Callable[[bytes, bytes], Awaitable[None]]
) -> None:
    while True:
        kind = await reader.readexactly(1)
        size = await reader.readexactly(4)
        body = await reader.readexactly(struct.unpack("!I", size)[0] - 4)
        await look(kind, body)
        writer.write(kind + size + body)
        await writer.drain()
