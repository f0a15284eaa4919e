"""Loads on a gateway: silent connections, streams, and large bodies, from a separate process.

They are plain sockets, of which thousands cost a client little, and use other loopback addresses than the measured
client, because connections per address have their own limit.
"""

import asyncio
import json
from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
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


Answers = Counter[str]
"""Number of connections by status: `open` got none and is still open, `cut` lost its connection."""


def run_load(url: str, load: Load, parent: "Connection[Answers, Any]") -> None:
    """Entry point of the process: opens all connections, sends the answers, and stays until it receives a message."""
    raise_file_limit()
    asyncio.run(_run_load(url, load, parent))


async def _run_load(url: str, load: Load, parent: "Connection[Answers, Any]") -> None:
    clients = _Clients(url, load)
    found = Counter(await asyncio.gather(*(clients.ask(number) for number in range(load.connections))))
    parent.send(found)
    await asyncio.to_thread(parent.recv)


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
                    return "open"
                return await self._request(reader, writer, self.load.secrets[number % len(self.load.secrets)])
        except (OSError, EOFError, TimeoutError):
            return "cut"

    async def _request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, secret: str) -> str:
        first, body = ("GET /v1/events", b"")
        if self.load.kind is Kind.BODY:
            first, body = "POST /v1/sessions/large/messages", large_body()
        head = f"{first} HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer {secret}\r\n"
        head += f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        status = await reader.readuntil(b"\r\n")
        return status.split()[1].decode()


def large_body() -> bytes:
    """A body of valid messages, close to the limits of their number and size."""
    message = {"role": "user", "content": "Some words of a long document. " * (BODY_BYTES // MESSAGES // 31 - 1)}
    return json.dumps([message] * MESSAGES).encode()
