"""`/v1/events` over real HTTP: each client gets each of its events once, despite restarts in between."""

import asyncio
import json
import re
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import httpx
import pytest

from purser.budget.gate import Amount
from purser.budget.holds import HoldRequest
from purser.budget.policies.policy import PolicyPatch
from purser.budget.postgres.connections.pools import Pool
from purser.budget.postgres.events.events import EventKind, Events
from purser.budget.postgres.ledger.ledger import Ledger
from purser.budget.postgres.ledger.policies import Policies
from purser.budget.postgres.ledger.settings import LedgerSettings
from purser.budget.scopes import Path, Scope
from purser.compose.settings import Settings
from purser.gateway.access import authentication
from purser.gateway.access.roles import Role
from purser.gateway.events import routes as module
from purser.gateway.events import stream
from purser.gateway.events.feed import Feed
from tests.gateway.conftest import RunningGateway, running_gateway
from tests.support.actors import ADA
from tests.support.events import put

SESSION = Scope.parse("session:s1")


@dataclass
class Listener:
    """A client of the stream, as simple as one can be."""

    client: httpx.AsyncClient
    seen: list[dict[str, Any]] = field(default_factory=list)
    last_id: str | None = None
    """Where it continues: behind its last event, or where the last connection began."""
    comments: list[str] = field(default_factory=list)
    retry: int | None = None

    @asynccontextmanager
    async def open(self, query: str = "") -> AsyncIterator[AsyncIterator[str]]:
        """The lines of one connection; it continues where the last one ended."""
        headers = {} if self.last_id is None else {"Last-Event-ID": self.last_id}
        async with self.client.stream("GET", f"/v1/events{query}", headers=headers, timeout=60) as response:
            assert response.status_code == 200, await response.aread()
            assert response.headers["content-type"].startswith("text/event-stream")
            self.last_id = response.headers["Purser-Last-Event-Id"]
            yield response.aiter_lines()

    async def listen(self, count: int, query: str = "") -> list[dict[str, Any]]:
        """Reads until `count` events were seen in all, or the stream ends."""
        async with self.open(query) as lines:
            await self.read(lines, count)
        return self.seen

    async def read(self, lines: AsyncIterator[str], count: int) -> None:
        event: dict[str, Any] = {}
        if len(self.seen) >= count:
            return
        async for line in lines:
            name, _, value = line.partition(": ")
            if line.startswith(":"):
                self.comments.append(line.removeprefix(":").strip())
            elif name == "retry":
                self.retry = int(value)
            elif name:
                event[name] = json.loads(value) if name == "data" else value
            elif event:
                self.last_id = event.get("id", self.last_id)
                self.seen.append(event)
                event = {}
                if len(self.seen) >= count:
                    return


async def put_events(
    pool: Pool, *numbers: int, tenant: str = "default", kind: EventKind = EventKind.TASK, scope: Scope = SESSION
) -> None:
    async with pool.acquire() as own:
        for number in numbers:
            await put(own, tenant, kind, scope, {"n": number})


async def until_numbered(pool: Pool) -> None:
    async with asyncio.timeout(30):
        while await pool.fetchval("select exists (select 1 from events where position is null)"):
            await asyncio.sleep(0.05)


def numbers(seen: list[dict[str, Any]]) -> list[int]:
    return [event["data"]["data"]["n"] for event in seen]


async def test_a_threshold_arrives_as_id_kind_and_data(gateway: RunningGateway, admin: httpx.AsyncClient) -> None:
    listener = Listener(admin)
    async with listener.open() as lines:
        ledger, settings = Ledger(gateway.pool, LedgerSettings()), LedgerSettings()
        patch = PolicyPatch.parse({"limit_tokens": 100, "warn_at": [0.8], "mode": "soft"})
        await Policies(gateway.pool, settings).set("default", SESSION, patch, by=ADA)
        await ledger.hold("default", HoldRequest("k", Path((SESSION,)), Amount(90)))
        async with asyncio.timeout(60):
            await listener.read(lines, 2)
    changed, reached = listener.seen
    assert (changed["event"], reached["event"]) == ("budget", "threshold")
    assert changed["data"]["data"]["by"] == "ada"
    assert changed["data"]["data"]["fields"]["limit_tokens"] == {"before": None, "after": 100}
    assert int(reached["id"]) > int(changed["id"])
    assert reached["data"].keys() == {"at", "scope", "data"}
    assert reached["data"]["scope"] == "session:s1"
    assert reached["data"]["data"] == {
        "threshold": 0.8,
        "window_start": None,
        "mode": "soft",
        "limit": {"tokens": 100, "nano_usd": None},
        "granted": {"tokens": 0, "nano_usd": 0},
        "spent": {"tokens": 0, "nano_usd": 0},
        "held": {"tokens": 90, "nano_usd": 0},
    }
    assert listener.retry == module.RETRY_MS


async def test_it_continues_behind_the_last_id_and_the_header_goes_before_the_query(
    gateway: RunningGateway, admin: httpx.AsyncClient
) -> None:
    await put_events(gateway.pool, 1, 2, 3, 4)
    listener = Listener(admin)
    assert numbers(await listener.listen(2, "?after=0")) == [1, 2]
    assert numbers(await listener.listen(4, "?after=0")) == [1, 2, 3, 4]


async def test_a_stream_that_breaks_off_before_its_first_event_loses_nothing(
    gateway: RunningGateway, admin: httpx.AsyncClient
) -> None:
    listener = Listener(admin)
    async with listener.open():
        pass
    await put_events(gateway.pool, 1)
    await until_numbered(gateway.pool)
    async with asyncio.timeout(60):
        assert numbers(await listener.listen(1)) == [1]


async def test_kinds_and_scopes_may_be_chosen(gateway: RunningGateway, admin: httpx.AsyncClient) -> None:
    await put_events(gateway.pool, 1)
    await put_events(gateway.pool, 2, kind=EventKind.APPROVAL)
    await put_events(gateway.pool, 3, kind=EventKind.COMPRESSION)
    chosen = await Listener(admin).listen(2, "?after=0&kind=approval&kind=compression&scope=session:s1")
    assert numbers(chosen) == [2, 3]
    await put_events(gateway.pool, 4, scope=Scope.parse("session:s2"))
    assert numbers(await Listener(admin).listen(1, "?after=0&scope=session:s2")) == [4]


@pytest.mark.parametrize(
    ("query", "header"),
    [("", "abc"), ("", "-1"), ("?after=x", None), ("?kind=nothing", None), ("?scope=nothing", None), ("", "1" * 40)],
)
async def test_what_is_no_position_kind_or_scope_is_refused(
    admin: httpx.AsyncClient, query: str, header: str | None
) -> None:
    headers = {} if header is None else {"Last-Event-ID": header}
    answer = await admin.get(f"/v1/events{query}", headers=headers)
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"


async def test_a_tenant_hears_of_itself_only(gateway: RunningGateway, admin: httpx.AsyncClient) -> None:
    await put_events(gateway.pool, 1, tenant="other")
    await put_events(gateway.pool, 2)
    other = await gateway.client(Role.VIEWER, tenant="other")
    assert numbers(await Listener(admin).listen(1, "?after=0")) == [2]
    assert numbers(await Listener(other).listen(1, "?after=0")) == [1]
    assert (await other.get("/v1/events?scope=tenant:default")).status_code == 403


async def test_a_key_of_an_agent_hears_of_work_and_not_of_money_or_approvals(
    gateway: RunningGateway, agent: httpx.AsyncClient
) -> None:
    await put_events(gateway.pool, 1, kind=EventKind.APPROVAL)
    await put_events(gateway.pool, 2, kind=EventKind.THRESHOLD)
    await put_events(gateway.pool, 3, kind=EventKind.TURN)
    assert numbers(await Listener(agent).listen(1, "?after=0")) == [3]
    refused = await agent.get("/v1/events?kind=turn&kind=approval")
    assert (refused.status_code, "approval" in refused.json()["detail"]) == (403, True)


async def test_no_stream_opens_without_a_key(gateway: RunningGateway) -> None:
    assert (await (await gateway.with_secret(None)).get("/v1/events")).status_code == 401


async def test_a_client_that_comes_back_after_retention_gets_a_gap(
    gateway: RunningGateway, admin: httpx.AsyncClient
) -> None:
    await put_events(gateway.pool, 1, 2, 3)
    await until_numbered(gateway.pool)
    assert await Events(gateway.pool).forget(timedelta(0), 2) == 2
    gap, oldest = await Listener(admin).listen(2, "?after=1")
    assert (gap["event"], gap["data"]) == ("gap", {"reason": "forgotten"})
    assert "id" not in gap
    assert numbers([oldest]) == [3]


async def test_a_stream_ends_with_a_gap_when_postgres_has_lost_its_events(
    gateway: RunningGateway, admin: httpx.AsyncClient
) -> None:
    listener = Listener(admin)
    async with listener.open("?after=0") as lines:
        await put_events(gateway.pool, 1, 2)
        await listener.read(lines, 2)
        await gateway.pool.execute("delete from events")
        await listener.read(lines, 3)
        assert (listener.seen[-1]["event"], listener.seen[-1]["data"]) == ("gap", {"reason": "ahead"})
        async with asyncio.timeout(30):
            assert not [line async for line in lines if line], "nothing follows"


async def test_a_quiet_stream_shows_that_it_lives(
    gateway: RunningGateway, admin: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "HEARTBEAT_S", 0.2)
    async with Listener(admin).open() as lines, asyncio.timeout(60):
        assert [line async for line in _until(lines, ": alive")]


async def _until(lines: AsyncIterator[str], wanted: str) -> AsyncIterator[str]:
    async for line in lines:
        yield line
        if line == wanted:
            return


async def test_a_stream_ends_soon_after_its_key(
    gateway: RunningGateway, admin: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "HEARTBEAT_S", 0.2)
    monkeypatch.setattr(authentication, "RECHECK_S", 0.2)
    made = (await admin.post("/v1/keys", json={"name": "page", "role": "viewer"})).json()
    listener = Listener(await gateway.with_secret(made["key"]))
    async with listener.open() as lines:
        await put_events(gateway.pool, 1)
        await listener.read(lines, 1)
        assert (await admin.delete(f"/v1/keys/{made['key_id']}")).status_code == 200
        async with asyncio.timeout(15):
            await listener.read(lines, 99)
    assert (await listener.client.get("/v1/events")).status_code == 401


async def test_a_client_that_disconnects_leaves_nothing_behind(
    own_gateway: RunningGateway, admin: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    # On the common gateway, pages that earlier tests asked for subscribe until they expire without a stream.
    feeds: set[Feed] = set()
    was = Feed.subscribe

    def noting(self: Feed, *args: Any, **options: Any) -> Any:
        feeds.add(self)
        return was(self, *args, **options)

    monkeypatch.setattr(Feed, "subscribe", noting)
    async with AsyncExitStack() as many:
        opened = [await many.enter_async_context(Listener(admin).open()) for _ in range(5)]
        for lines in opened:
            await anext(lines)
        [feed] = feeds
        async with asyncio.timeout(60):
            while feed.subscribers != 5:
                await asyncio.sleep(0.02)
    async with asyncio.timeout(60):
        while feed.subscribers:
            await asyncio.sleep(0.02)


async def test_fifty_streams_end_well_when_the_gateway_stops(settings: Settings) -> None:
    # So long that only streams which end by themselves let the gateway stop in time.
    settings = settings.model_copy(update={"shutdown_grace_s": 600})
    async with AsyncExitStack() as many, AsyncExitStack() as running:
        async with asyncio.timeout(60):
            gateway = await running.enter_async_context(running_gateway(settings))
            client = httpx.AsyncClient(
                base_url=gateway.url,
                headers=(await gateway.client(Role.VIEWER)).headers,
                limits=httpx.Limits(max_connections=60),
            )
            await many.enter_async_context(client)
            listeners = [Listener(client) for _ in range(50)]
            lines = [await many.enter_async_context(listener.open()) for listener in listeners]
            await put_events(gateway.pool, 1)
            pairs = list(zip(listeners, lines, strict=True))
            await asyncio.gather(*(listener.read(one, 1) for listener, one in pairs))
            reading = asyncio.gather(*(listener.read(one, 99) for listener, one in pairs))
            await running.aclose()
            await reading  # each ends as a response ends, not broken off
    assert all(listener.comments[-1] == "the gateway is stopping: reconnect" for listener in listeners)


async def test_through_two_gateways_and_a_restart_nothing_is_lost_or_doubled(
    settings: Settings, other_settings: Settings
) -> None:
    total, writers, listeners = 3_000, 8, 4
    settings, other = (one.model_copy(update={"shutdown_grace_s": 2}) for one in (settings, other_settings))
    async with running_gateway(other) as steady:
        secret = (await steady.client(Role.VIEWER)).headers["Authorization"].removeprefix("Bearer ")
        done = asyncio.Event()

        async def listen(number: int) -> Listener:
            listener = Listener(await steady.with_secret(secret), last_id="0")
            while len(listener.seen) < total:
                # Each connection goes to the other gateway; one that is down is tried again, as browsers do.
                port = (settings, other)[number % 2].gateway_port
                number += 1
                listener.client.base_url = httpx.URL(f"http://127.0.0.1:{port}")
                with suppress(httpx.TransportError):
                    await listener.listen(min(total, len(listener.seen) + 700))
                await asyncio.sleep(0.05)
            return listener

        async def restart() -> None:
            while not done.is_set():
                async with running_gateway(settings):
                    with suppress(TimeoutError):
                        await asyncio.wait_for(done.wait(), 1.5)

        async def write_share(start: int) -> None:
            for n in range(start, total, writers):
                await put_events(steady.pool, n)

        restarting = asyncio.create_task(restart())
        listening = [asyncio.create_task(listen(number)) for number in range(listeners)]
        await asyncio.gather(*(write_share(start) for start in range(writers)))
        async with asyncio.timeout(120):
            heard = await asyncio.gather(*listening)
        done.set()
        await restarting
    for listener in heard:
        counted = Counter(numbers(listener.seen))
        assert set(counted.values()) == {1}
        assert set(counted) == set(range(total))
        ids = [int(event["id"]) for event in listener.seen]
        assert ids == sorted(ids)


async def test_its_description_names_the_stream(admin: httpx.AsyncClient) -> None:
    described = (await admin.get("/openapi.json")).json()["paths"]["/v1/events"]["get"]
    assert "text/event-stream" in described["responses"]["200"]["content"]
    assert re.search("Last-Event-ID", json.dumps(described["parameters"]))
