"""The stream of events resumes where it broke off."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from purser.gateway.access.roles import Role
from purser_client import AsyncPurser, BudgetBody, Event, Forbidden, Purser, Unanswered, Unreadable
from purser_client.events import Reader
from tests.client.conftest import World
from tests.client.relay import relaying
from tests.support.servers.raw_server import RawServer, raw_server, replies

EVENT = (
    b'retry: 10\n\nid: 7\nevent: task\ndata: {"at": "2026-11-20T12:00:00+00:00", "scope": "task:t1", "data": {}}\n\n'
)


async def test_a_stream_that_breaks_off_is_resumed_without_a_gap_or_a_repetition(world: World) -> None:
    admin = await world.client()
    async with relaying(world.gateway.url) as relay:
        follower = await world.client(Role.VIEWER, relay.url)
        events = follower.events(kinds=["budget"], after="0")
        seen: list[str | None] = []
        for number in range(6):
            await admin.budgets.change(f"session:n{number}", BudgetBody(limit_tokens=5))
            seen.append((await _next(events)).scope)
            if number in (1, 3):
                relay.cut()
        await follower.close()
    assert seen == [f"session:n{number}" for number in range(6)]
    assert relay.connections >= 3


async def test_a_stream_that_breaks_off_before_its_first_event_is_resumed_where_it_began() -> None:
    async def ends_at_first(server: RawServer, writer: asyncio.StreamWriter) -> None:
        begun = replies(b"retry: 10\n\n", more="Purser-Last-Event-Id: 6\r\n")
        await (begun if len(server.requests) == 1 else replies(EVENT))(server, writer)

    async with raw_server(ends_at_first) as server, AsyncPurser(f"http://127.0.0.1:{server.port}", "none") as purser:
        assert (await _next(purser.events())).id == "7"
        assert b"last-event-id: 6" in server.requests[1].lower()
    async with raw_server(ends_at_first) as server:
        with Purser(f"http://127.0.0.1:{server.port}", "none") as plain:
            assert (await asyncio.to_thread(lambda: next(plain.events()))).id == "7"
        assert b"last-event-id: 6" in server.requests[1].lower()


async def test_a_thread_follows_events(world: World) -> None:
    admin, plain = await world.client(), await world.plain()
    await admin.budgets.change("session:s1", BudgetBody(limit_tokens=5))
    event = await asyncio.to_thread(lambda: next(plain.events(scopes=["session:s1"], after="0")))
    assert (event.kind, event.scope) == ("budget", "session:s1")
    assert event.id.isdigit()
    assert event.at is not None


async def test_what_a_key_may_not_follow_is_raised(world: World) -> None:
    agent = await world.client(Role.AGENT)
    with pytest.raises(Forbidden):
        await _next(agent.events(kinds=["budget"]))


@pytest.mark.parametrize("status", ["502 Bad Gateway", "503 Service Unavailable", "504 Gateway Timeout"])
async def test_what_a_load_balancer_answers_for_the_gateway_does_not_end_a_stream(status: str) -> None:
    async def away_at_first(server: RawServer, writer: asyncio.StreamWriter) -> None:
        away = replies(b"<html>", "text/html", status)
        await (away if len(server.requests) == 1 else replies(EVENT))(server, writer)

    async with raw_server(away_at_first) as between, AsyncPurser(f"http://127.0.0.1:{between.port}", "none") as purser:
        assert (await _next(purser.events())).id == "7"
    async with raw_server(away_at_first) as between:
        with Purser(f"http://127.0.0.1:{between.port}", "none") as plain:
            assert (await asyncio.to_thread(lambda: next(plain.events()))).id == "7"


async def test_a_success_that_is_no_stream_is_named() -> None:
    async with raw_server(replies(b"<html>", "text/html")) as other:
        address = f"http://127.0.0.1:{other.port}"
        async with AsyncPurser(address, "none") as purser:
            with pytest.raises(Unreadable, match="'text/html' instead of events"):
                await _next(purser.events())
        with Purser(address, "none") as plain, pytest.raises(Unreadable, match="'text/html' instead of events"):
            await asyncio.to_thread(lambda: next(plain.events(), None))


@pytest.mark.parametrize(("url", "key"), [("ftp://127.0.0.1:9", "none"), ("http://127.0.0.1:{port}", "a\nb")])
async def test_a_request_that_can_never_be_sent_is_raised(url: str, key: str) -> None:
    async with raw_server(replies(EVENT)) as server, AsyncPurser("http://127.0.0.1:9", "none") as purser:
        with Purser("http://127.0.0.1:9", "none") as plain:
            for client in (purser, plain):
                client._http.base_url = url.format(port=server.port)
                client._http.headers["Authorization"] = key
            with pytest.raises(Unanswered, match=r"\((LocalProtocolError|UnsupportedProtocol)\)"):
                await _next(purser.events())
            with pytest.raises(Unanswered, match=r"\((LocalProtocolError|UnsupportedProtocol)\)"):
                await asyncio.to_thread(lambda: next(plain.events()))


async def _next(events: AsyncIterator[Event]) -> Event:
    async with asyncio.timeout(60):
        return await anext(events)


def test_a_reader_forgets_half_an_event_and_keeps_its_place() -> None:
    reader = Reader(after="3")
    reader.read("id: 4")
    reader.begin({})
    lines = [": purser", "retry: 500", "", "event: gap", 'data: {"reason": "gone"}', "", "id: 7", "event: task"]
    events = [event for line in lines for event in reader.read(line)]
    assert [(event.kind, event.data, event.at) for event in events] == [("gap", {"reason": "gone"}, None)]
    assert (reader.after, reader.retry_s) == ("3", 0.5)
    ended = ['data: {"at": "2026-11-20T12:00:00+00:00", "scope": "task:t1",', 'data: "data": {"turn": 1}}', ""]
    [event] = [event for line in ended for event in reader.read(line)]
    assert (event.id, event.kind, event.scope, event.data) == ("7", "task", "task:t1", {"turn": 1})
    assert reader.headers["Last-Event-ID"] == "7"
