"""Events end where everything stored has been read, and followed ones go on where a stream broke off."""

import asyncio

import httpx
import pytest

from purser.compose.cli.api import client as api_client
from purser.compose.cli.api import event_lines
from purser.compose.cli.api.client import Gateway
from purser.compose.errors import Unreachable
from tests.support.servers.raw_server import RawServer, raw_server, replies

EVENT = b'id: 7\nevent: task\ndata: {"at": "2026-11-20T12:00:00+00:00", "scope": "task:t1", "data": {}}\n\n'


async def test_a_quiet_stream_that_breaks_off_is_followed_from_where_it_began(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_lines, "RETRY_S", 0.0)

    async def breaks_at_first(server: RawServer, writer: asyncio.StreamWriter) -> None:
        quiet = replies(b": purser\n\n", more="Purser-Last-Event-Id: 6\r\ncontent-length: 99\r\n")
        await (quiet if len(server.requests) == 1 else replies(EVENT))(server, writer)

    async with raw_server(breaks_at_first) as server:
        with httpx.Client(base_url=f"http://127.0.0.1:{server.port}") as client:
            following = event_lines.read_events(Gateway(client), {}, None, follow=True)
            event = await asyncio.to_thread(next, following)
    assert event["id"] == 7
    assert [request.split(b" ")[1] for request in server.requests] == [b"/v1/events", b"/v1/events?after=6"]


async def test_a_gateway_that_begins_late_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_lines, "QUIET_S", 0.1)

    async def late(server: RawServer, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.3)
        await replies(EVENT)(server, writer)

    async with raw_server(late) as server:
        with httpx.Client(base_url=f"http://127.0.0.1:{server.port}") as client:
            reading = event_lines.read_events(Gateway(client), {}, 0, follow=False)
            assert [event["id"] for event in await asyncio.to_thread(list, reading)] == [7]


@pytest.mark.parametrize("follow", [False, True])
async def test_a_gateway_that_hangs_is_an_error_and_not_the_end_of_the_events(
    monkeypatch: pytest.MonkeyPatch, follow: bool
) -> None:
    monkeypatch.setattr(api_client, "TIMEOUT_S", 0.2)
    freed = asyncio.Event()

    async def hangs(server: RawServer, writer: asyncio.StreamWriter) -> None:
        await freed.wait()

    async with raw_server(hangs) as server:
        with httpx.Client(base_url=f"http://127.0.0.1:{server.port}") as client:
            reading = event_lines.read_events(Gateway(client), {}, 0, follow=follow)
            with pytest.raises(Unreachable, match="does not answer: ReadTimeout"):
                await asyncio.to_thread(list, reading)
        freed.set()
