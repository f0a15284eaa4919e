"""The response of an event stream ends with its client, however that client behaves."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager

import pytest
from starlette.types import Message
from structlog.testing import capture_logs

from purser.gateway.events import stream as module
from purser.gateway.events.stream import EventStream, comment, encode

SCOPE = {"type": "http", "method": "GET", "path": "/v1/events"}


class Client:
    """A client of one response: it reads everything, or nothing after the headers."""

    def __init__(self, *, reads: bool = True) -> None:
        self.reads = reads
        self.received: list[Message] = []
        self.gone = asyncio.Event()
        self.closed: list[str] = []

    async def receive(self) -> Message:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if not self.reads and message["type"] == "http.response.body":
            await asyncio.Event().wait()
        self.received.append(message)

    async def follow(self, *, quiet: bool) -> None:
        """Follows one event, and then either nothing or the end."""

        async def content() -> AsyncGenerator[bytes, None]:
            try:
                yield encode(event="task", data="{}", position=1)
                if quiet:
                    await asyncio.Event().wait()
            finally:
                self.closed.append("content")

        @contextmanager
        def place() -> Iterator[None]:
            yield
            self.closed.append("place")

        async with asyncio.timeout(60):
            await EventStream(content(), place())(SCOPE, self.receive, self.send)


def test_events_and_comments_are_encoded_as_the_specification_says() -> None:
    assert encode(event="task", data="{}", position=7) == b"id: 7\nevent: task\ndata: {}\n\n"
    assert encode(event="gap", data="{}") == b"event: gap\ndata: {}\n\n"
    assert comment("purser", retry_ms=2_000) == b": purser\nretry: 2000\n\n"


async def test_a_stream_whose_events_end_completes_its_response() -> None:
    client = Client()
    await client.follow(quiet=False)
    start, event, end = client.received
    assert (start["status"], event["more_body"], end["more_body"]) == (200, True, False)
    assert client.closed == ["content", "place"]


async def test_a_client_that_disconnects_ends_a_quiet_stream() -> None:
    client = Client()
    following = asyncio.create_task(client.follow(quiet=True))
    while len(client.received) < 2:
        await asyncio.sleep(0)
    client.gone.set()
    await following
    assert client.closed == ["content", "place"]


async def test_a_client_that_reads_nothing_is_disconnected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SEND_TIMEOUT_S", 0.05)
    client = Client(reads=False)
    with capture_logs() as logs:
        await client.follow(quiet=False)
    assert client.closed == ["content", "place"]
    # Other work of the process may have something to say meanwhile.
    said = [entry["event"] for entry in logs if "stream" in entry["event"]]
    assert said == ["event stream closed: the client does not read"]


async def test_a_heartbeat_that_is_not_read_ends_a_quiet_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SEND_TIMEOUT_S", 0.05)
    monkeypatch.setattr(module, "HEARTBEAT_S", 0.05)
    client = Client()
    following = asyncio.create_task(client.follow(quiet=True))
    while len(client.received) < 2:
        await asyncio.sleep(0)
    client.reads = False
    await following
    assert client.closed == ["content", "place"]
