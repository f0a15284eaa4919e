"""A relay in front of a gateway that loses answers: the gateway has worked, the client gets no answer."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit


@dataclass
class Relay:
    """Where clients connect, and what they lose."""

    url: str = ""
    losing: str = ""
    """The answers to the next requests whose first line contains this are lost."""
    times: int = 0
    """How many more are lost."""
    lost: list[str] = field(default_factory=list)
    """First lines of the requests whose answers were lost."""
    connections: int = 0
    """Connections so far."""
    open: set[asyncio.StreamWriter] = field(default_factory=set)

    def cut(self) -> None:
        """Breaks all connections."""
        for writer in self.open:
            writer.transport.abort()


@asynccontextmanager
async def relaying(gateway: str) -> AsyncIterator[Relay]:
    """A relay until the end of the block."""
    target = urlsplit(gateway)
    made = Relay()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        made.connections += 1
        made.open.add(writer)
        up_reader, up_writer = await asyncio.open_connection(target.hostname, target.port)
        losing = asyncio.Event()

        async def forward() -> None:
            while data := await reader.read(65_536):
                line = data.partition(b"\r\n")[0].decode("latin-1")
                if made.times and made.losing and made.losing in line:
                    made.times -= 1
                    made.lost.append(line)
                    losing.set()
                up_writer.write(data)
                await up_writer.drain()

        async def back() -> None:
            while data := await up_reader.read(65_536):
                if losing.is_set():
                    return
                writer.write(data)
                await writer.drain()

        ways = [asyncio.create_task(forward()), asyncio.create_task(back())]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            for one in (writer, up_writer):
                one.close()
                with suppress(OSError):
                    await one.wait_closed()
            made.open.discard(writer)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    made.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield made
    finally:
        server.close()
        made.cut()
