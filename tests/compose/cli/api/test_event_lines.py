"""Followed events go on where a stream broke off, even before its first event."""

import asyncio

import httpx
import pytest

from purser.compose.cli.api import event_lines
from purser.compose.cli.api.client import Gateway
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
