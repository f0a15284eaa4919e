"""What burdens a gateway: connections that say nothing, streams, and large bodies, from a process of their own.

They are bare sockets, of which thousands cost a client little, and come from other loopback addresses than the honest
client: how much one address may open is a limit of its own.
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
"""Of a large body: as many as one append may have."""
PATIENCE_S = 120
"""For everything to be answered."""


class Kind(StrEnum):
    """What connections do."""

    SILENT = "silent"
    STREAM = "stream"
    BODY = "body"


@dataclass(frozen=True)
class Burden:
    """Connections that are opened at once."""

    name: str
    kind: Kind
    connections: int
    secrets: tuple[str, ...] = ()
    """Keys, which take turns."""


Answers = Counter[str]
"""Connections by the status that they got: `open` has none, `cut` lost its connection."""


def press(url: str, burden: Burden, parent: "Connection[Answers, Any]") -> None:
    """The entry of the process: opens everything, says what came of it, and keeps it open until it hears something."""
    raise_file_limit()
    asyncio.run(_press(url, burden, parent))


async def _press(url: str, burden: Burden, parent: "Connection[Answers, Any]") -> None:
    clients = _Clients(url, burden)
    found = Counter(await asyncio.gather(*(clients.ask(number) for number in range(burden.connections))))
    parent.send(found)
    await asyncio.to_thread(parent.recv)


@dataclass
class _Clients:
    url: str
    burden: Burden
    opened: list[asyncio.StreamWriter] = field(default_factory=list)

    async def ask(self, number: int) -> str:
        parts = urlsplit(self.url)
        own = (f"127.0.0.{2 + number % 2}", 0)
        try:
            async with asyncio.timeout(PATIENCE_S):
                reader, writer = await asyncio.open_connection(parts.hostname, parts.port, local_addr=own)
                self.opened.append(writer)
                if self.burden.kind is Kind.SILENT:
                    return "open"
                return await self._request(reader, writer, self.burden.secrets[number % len(self.burden.secrets)])
        except (OSError, EOFError, TimeoutError):
            return "cut"

    async def _request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, secret: str) -> str:
        first, body = ("GET /v1/events", b"")
        if self.burden.kind is Kind.BODY:
            first, body = "POST /v1/sessions/large/messages", large_body()
        head = f"{first} HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer {secret}\r\n"
        head += f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        status = await reader.readuntil(b"\r\n")
        return status.split()[1].decode()


def large_body() -> bytes:
    """Messages that are taken, as many and as large as they may be."""
    message = {"role": "user", "content": "Some words of a long document. " * (BODY_BYTES // MESSAGES // 31 - 1)}
    return json.dumps([message] * MESSAGES).encode()
