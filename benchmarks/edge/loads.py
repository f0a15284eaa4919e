"""Loads on a gateway: silent connections, streams, and large bodies, from a separate process.

They are plain sockets, of which thousands cost a client little, and use other loopback addresses than the measured
client, because connections per address have their own limit. Streams stay open; what the gateway ends is sent again,
so that the load lasts as long as the client is measured.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from multiprocessing.connection import Connection
from typing import Any
from urllib.parse import urlsplit

from purser.compose.http.connections import raise_file_limit

BODY_BYTES = 15 * 2**20
MESSAGES = 10_000
"""Messages of a large body: the maximum of one append."""
TIMEOUT_S = 120
"""Until each connection is answered."""


class Kind(StrEnum):
    """What the connections of a load do."""

    SILENT = "silent"
    STREAM = "stream"
    BODY = "body"


@dataclass(frozen=True)
class Load:
    """Connections that are opened at the same time."""

    name: str
    kind: Kind
    connections: int
    secrets: tuple[str, ...] = ()
    """Keys, used in rotation."""
    streams: int = 0
    """Streams that these keys may open together."""

    def is_limited(self, answers: "Answers") -> bool:
        """Whether a gateway that gave these answers cut or refused what exceeds its limits, and nothing else."""
        match self.kind:
            case Kind.SILENT:
                return answers.keys() == {"cut"}
            case Kind.STREAM:
                accepted = min(self.connections, self.streams)
                return answers == Counter({"200": accepted, "429": self.connections - accepted})
            case Kind.BODY:
                return answers["200"] > 0 < answers["429"] and answers.keys() <= {"200", "429", "cut"}


Answers = Counter[str]
"""Number of connections by status: `open` got no answer in time, `cut` lost its connection."""


def run_load(url: str, load: Load, parent: "Connection[Answers, Any]") -> None:
    """Entry point of the process: see `repeat_until_stopped`."""
    raise_file_limit()
    asyncio.run(_run_load(url, load, parent))


async def _run_load(url: str, load: Load, parent: "Connection[Answers, Any]") -> None:
    clients, lasts = _Clients(url, load), load.kind is Kind.STREAM

    async def ask_all() -> Answers:
        found = Counter(await asyncio.gather(*(clients.ask(number) for number in range(load.connections))))
        if not lasts:
            clients.abort()
        return found

    await repeat_until_stopped(parent, ask_all, lasts=lasts)


async def repeat_until_stopped(
    parent: "Connection[Any, Any]", work: Callable[[], Awaitable[Answers]], *, lasts: bool
) -> None:
    """Sends that it begins, works until it receives a message, and sends all answers.

    Args:
        parent: the process that measures.
        work: loads the gateway.
        lasts: whether the load of one work lasts; otherwise it is repeated.
    """
    parent.send("begins")
    stopped, answers = asyncio.create_task(asyncio.to_thread(parent.recv)), Answers()
    while not stopped.done():
        answers += await work()
        if lasts:
            await stopped
    parent.send(answers)


@dataclass
class _Clients:
    url: str
    load: Load
    opened: list[asyncio.StreamWriter] = field(default_factory=list)

    async def ask(self, number: int) -> str:
        parts = urlsplit(self.url)
        own = (f"127.0.0.{2 + number % 2}", 0)
        try:
            async with asyncio.timeout(TIMEOUT_S):
                reader, writer = await asyncio.open_connection(parts.hostname, parts.port, local_addr=own)
                self.opened.append(writer)
                if self.load.kind is Kind.SILENT:
                    await reader.read()
                    return "cut"
                return await self._request(reader, writer, self.load.secrets[number % len(self.load.secrets)])
        except TimeoutError:
            return "open"
        except (OSError, EOFError):
            return "cut"

    def abort(self) -> None:
        """Closes all connections, with what refused ones have left to send."""
        for writer in self.opened:
            writer.transport.abort()
        self.opened.clear()

    async def _request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, secret: str) -> str:
        first, body = ("GET /v1/events", b"")
        if self.load.kind is Kind.BODY:
            first, body = "POST /v1/sessions/large/messages", large_body()
        head = f"{first} HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer {secret}\r\n"
        head += f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        status = await reader.readuntil(b"\r\n")
        return status.split()[1].decode()


@cache
def large_body() -> bytes:
    """A body of valid messages, close to the limits of their number and size."""
    message = {"role": "user", "content": "Some words of a long document. " * (BODY_BYTES // MESSAGES // 31 - 1)}
    return json.dumps([message] * MESSAGES).encode()
