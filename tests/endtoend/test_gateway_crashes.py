"""A gateway that is killed during requests and decisions: nothing is done twice, and nothing is lost."""

import asyncio
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest
from temporalio.client import Client

from purser.compose.stack.ports import free_port
from purser.gateway.access.roles import Role
from purser.gateway.postgres.keys import Keys
from tests.support.actors import TESTER
from tests.support.runs.proof import sized, some
from tests.support.servers.clients import plain_client
from tests.support.servers.forked import Forked, Forks
from tests.support.servers.postgres_proxy import Proxy, Trap, When, postgres_proxy
from tests.support.servers.purser import Started
from tests.support.servers.retrying_client import RetryingClient
from tests.support.world import TENANT, World, eventually, world

pytestmark = pytest.mark.stack
CLIENTS, KILLS = 10, sized(2, 5)
USED = 70
WITHIN_S = 150.0
SWEEP_EVERY_S = "1"
"""Only a sweep finds a message that a gateway claimed and died with, once its lease of 30 s is over."""


@dataclass
class System:
    """A world whose only gateway, which alone sends the outbox to Temporal, is a process that dies."""

    world: World
    proxy: Proxy
    purser: Forked
    url: str
    clients: AsyncExitStack
    process: Started | None = None

    async def start(self, dsn: str | None = None, **settings: str) -> None:
        """Starts a gateway that connects to Postgres through the proxy, or directly with `dsn`."""
        purser = self.purser.having(dsn=dsn or self.proxy.dsn, **settings)
        self.process = await asyncio.to_thread(purser.start, "gateway")

    async def kill(self) -> None:
        """Kills the gateway without a chance to clean up."""
        assert self.process is not None
        await asyncio.to_thread(self.process.kill)

    async def client(self, seed: int = 0) -> RetryingClient:
        """A client that repeats each request until it is answered."""
        made = await Keys(self.world.pool).create(TENANT, f"client-{uuid.uuid4().hex[:8]}", Role.ADMIN, by=TESTER)
        headers = {"Authorization": f"Bearer {made.secret}"}
        http = plain_client(base_url=self.url, headers=headers, timeout=10)
        return RetryingClient(await self.clients.enter_async_context(http), Random(seed))


@pytest.fixture
async def system(
    dsn: str, temporal_client: Client, temporal_address: str, task_queue: str, tmp_path: Path, forks: Forks
) -> AsyncIterator[System]:
    """Without a gateway yet. Worker and provider are in this process; they send nothing from the outbox."""
    port = free_port()
    places = {"temporal_address": temporal_address, "task_queue": task_queue, "gateway_port": str(port)}
    # The outbox is sent on a wake-up or at the start, never by a sweep that happens to run.
    settings = {"metrics_port": "0", "sweep_every_s": "3600", "rate_limit_per_s": "0", "dashboard": "false"}
    async with (
        world(dsn, temporal_client, task_queue, background=False) as made,
        made.worker(),
        postgres_proxy(dsn) as proxy,
        AsyncExitStack() as clients,
    ):
        purser = forks.purser(tmp_path, **places, **settings, allowed_api_bases=made.provider.address)
        system = System(made, proxy, purser, f"http://127.0.0.1:{port}", clients)
        try:
            yield system
        finally:
            if system.process is not None and system.process.process.poll() is None:
                await system.kill()


# --- at the precise points of a decision -----------------------------------------------------------------------------


@dataclass
class PendingDecision:
    """A decision during which the gateway is killed, and whether the client has its answer."""

    system: System
    answered: asyncio.Event = field(default_factory=asyncio.Event)

    async def before_the_transaction(self) -> None:
        await self._strike("for no key update of s", When.BEFORE)

    async def before_the_commit(self) -> None:
        await self._strike("insert into decisions", When.AFTER)

    async def after_the_commit_before_the_answer(self) -> None:
        await self._strike("insert into decisions", When.AFTER, commit=True)

    async def after_the_answer_before_the_wake_up_is_sent(self) -> None:
        await self._strike("update outbox o set tries", When.BEFORE, once=self.answered)

    async def _strike(
        self, statement: str, when: When, *, commit: bool = False, once: asyncio.Event | None = None
    ) -> None:
        async def action() -> None:
            if once is not None:
                await once.wait()
            await self.system.kill()

        trap = self.system.proxy.set(Trap(statement, when, action, commit))
        await asyncio.wait_for(trap.sprung.wait(), WITHIN_S)


POINTS = (
    PendingDecision.before_the_transaction,
    PendingDecision.before_the_commit,
    PendingDecision.after_the_commit_before_the_answer,
    PendingDecision.after_the_answer_before_the_wake_up_is_sent,
)


@pytest.mark.proof
@pytest.mark.parametrize("point", some(POINTS, 1))
async def test_a_decision_survives_a_gateway_that_is_killed(
    system: System, dsn: str, point: Callable[[PendingDecision], Coroutine[Any, Any, None]]
) -> None:
    await system.start()
    client, deciding = await system.client(), PendingDecision(system)
    task_id = (await client.ask("POST", "/v1/tasks", short_task(system.world), same=task_of))["task_id"]
    [approval] = await eventually(lambda: pending(system.world), WITHIN_S)

    striking = asyncio.create_task(point(deciding))
    await asyncio.sleep(0)  # the trap is set
    decision = {"decision_id": "d-1", "decision": "approve", "grant_tokens": 5_000}
    asked = asyncio.create_task(client.ask("POST", f"/v1/approvals/{approval}/decision", decision, same=whole))
    if point is PendingDecision.after_the_answer_before_the_wake_up_is_sent:
        await asked
        deciding.answered.set()
    await striking
    await system.start(dsn)

    assert await asked == {"state": "approved", "decisions_needed": 0}
    assert client.unanswered > 0 or point is PendingDecision.after_the_answer_before_the_wake_up_is_sent
    task = await ended(system.world, task_id)
    assert task["status"] == "completed"
    assert await system.world.pool.fetchval("select count(*) from decisions") == 1
    assert [row["tokens"] for row in await system.world.pool.fetch("select tokens from grants")] == [5_000]
    assert len(system.world.provider.served()) == 1
    await system.world.audited()


# --- in the middle of everything -------------------------------------------------------------------------------------


@dataclass
class Expected:
    """What the answers to clients promise, to be compared with the tables."""

    settled: Counter[str] = field(default_factory=Counter)
    """Tokens by session."""
    keys: list[str] = field(default_factory=list)
    messages: Counter[str] = field(default_factory=Counter)
    limits: dict[str, int] = field(default_factory=dict)
    """The limit that was set last, by scope."""
    set: int = 0
    tasks: list[str] = field(default_factory=list)
    granted: dict[str, int] = field(default_factory=dict)
    """Tokens by approval request."""


@dataclass
class ClientLoop:
    """The repeated requests of one client."""

    client: RetryingClient
    world: World
    expected: Expected
    number: int

    async def run(self, stop: asyncio.Event) -> None:
        """Sends requests until `stop`, and ends between two of them."""
        acts = (self.call, self.call, self.say, self.limit, self.submit, self.exceed)
        while not stop.is_set():
            await self.client.random.choice(acts)()

    async def call(self) -> None:
        """Holds, starts an attempt, settles."""
        session, key = f"s{self.number % 3}", self._name()
        path = [f"session:{session}", f"task:{key}", f"agent:{key}/a"]
        await self._call({"key": key, "path": path, "tokens": 100, "nano_usd": 0})
        self.expected.settled[f"session:{session}"] += USED

    async def say(self) -> None:
        """Adds a message to a conversation that others add to as well."""
        session = f"talk{self.number % 3}"
        body = {"messages": [{"role": "user", "content": f"{self._name()} says hello."}], "key": self._name()}
        await self.client.ask("POST", f"/v1/sessions/{session}/messages", body, same=lambda answer: answer["seqs"])
        self.expected.messages[session] += 1

    async def limit(self) -> None:
        """Sets a limit that no other client sets."""
        scope, limit = f"user:u{self.number}", self.client.random.randrange(10**9)
        await self.client.ask(
            "PUT", f"/v1/budgets/{scope}", {"limit_tokens": limit}, same=lambda answer: answer["limit_tokens"]
        )
        self.expected.set += self.expected.limits.get(scope) != limit
        self.expected.limits[scope] = limit

    async def submit(self) -> None:
        """Submits a task every second time."""
        if self.client.random.random() < 0.5:
            body = {**plain_task(self.world), "task_id": f"t-{self._name()}"}
            await self.client.ask("POST", "/v1/tasks", body, same=task_of)
            self.expected.tasks.append(body["task_id"])

    async def exceed(self) -> None:
        """Asks for more than the limit, approves the request itself, and holds."""
        name = self._name()
        scope = f"session:short-{name}"
        await self.client.ask(
            "PUT", f"/v1/budgets/{scope}", {"limit_tokens": 1, "mode": "approval"}, same=lambda answer: answer["mode"]
        )
        self.expected.limits[scope] = 1
        self.expected.set += 1
        ask = {"key": name, "path": [scope], "tokens": 100, "nano_usd": 0}
        short = await self.client.ask("POST", "/v1/holds", ask, same=lambda answer: answer["approval_id"])
        approval, extra = short["approval_id"], 100 + self.client.random.randrange(100)
        decision = {"decision_id": f"d-{name}", "decision": "approve", "grant_tokens": extra}
        await self.client.ask("POST", f"/v1/approvals/{approval}/decision", decision, same=whole)
        self.expected.granted[approval] = extra
        await self._call(ask)
        self.expected.settled[scope] += USED

    async def _call(self, ask: dict[str, Any]) -> None:
        held = await self.client.ask("POST", "/v1/holds", ask, same=lambda answer: answer["hold_id"])
        assert held["verdict"] in ("allow", "warn"), held
        self.expected.keys.append(ask["key"])
        place = f"/v1/holds/{held['hold_id']}"
        await self.client.ask("POST", f"{place}/attempts", {"attempt": 1}, same=lambda answer: answer["verdict"])
        report = {"attempt": 1, "usage": {"total": USED}, "nano_usd": 0}
        await self.client.ask("POST", f"{place}/settle", report, same=lambda answer: answer["charged"])

    def _name(self) -> str:
        return f"c{self.number}-{self.client.random.getrandbits(64):x}"


@pytest.mark.proof
async def test_nothing_is_done_twice_by_clients_that_repeat_what_a_killed_gateway_left_unanswered(
    system: System, dsn: str, seed: int
) -> None:
    random, stop, expected = Random(seed), asyncio.Event(), Expected()
    await system.start(dsn, sweep_every_s=SWEEP_EVERY_S)
    clients = [await system.client(random.getrandbits(32)) for _ in range(CLIENTS)]
    loops = [ClientLoop(client, system.world, expected, number) for number, client in enumerate(clients)]
    running = asyncio.gather(*(loop.run(stop) for loop in loops))
    for _ in range(KILLS):
        await asyncio.sleep(random.uniform(0.5, 2.0))
        await system.kill()
        await system.start(dsn, sweep_every_s=SWEEP_EVERY_S)
    await asyncio.sleep(1)
    stop.set()
    await running

    assert sum(client.unanswered for client in clients) >= KILLS, "the gateway died in the middle of something"
    assert sum(client.repeated for client in clients) > CLIENTS
    for task_id in expected.tasks:
        assert (await ended(system.world, task_id))["status"] == "completed"
    await everything_was_done_once(system.world, expected)


async def everything_was_done_once(made: World, expected: Expected) -> None:
    """Checks that the tables contain exactly what the clients were answered."""
    pool, tasks = made.pool, len(expected.tasks)
    held = await pool.fetch("select key, attempts, charged_tokens from holds where key ~ '^c[0-9]+-[0-9a-f]+$'")
    assert sorted(row["key"] for row in held) == sorted(expected.keys), "one hold a key"
    assert {(row["attempts"], row["charged_tokens"]) for row in held} == {(1, USED)}
    for scope, tokens in expected.settled.items():
        assert await made.spent(scope) == tokens
    for session, count in expected.messages.items():
        seqs = await pool.fetch("select seq from messages where session_id = $1 order by seq", session)
        assert [row["seq"] for row in seqs] == list(range(1, count + 1)), "each message once, without a gap"
    stored = await pool.fetch(
        "select s.kind || ':' || s.id as scope, limit_tokens from policies join scopes s using (tenant, scope_id)"
        " where task = ''"
    )
    assert {row["scope"]: row["limit_tokens"] for row in stored} == expected.limits
    changed = "select count(*) from events where kind = 'budget'"
    assert await pool.fetchval(changed) == expected.set, "a policy that is stored again does not change again"
    assert await pool.fetchval("select count(*) from tasks") == len(set(expected.tasks)) == tasks
    assert len(made.provider.served()) == tasks, "one agent with one turn each"
    granted = await pool.fetch("select approval_id, tokens from grants")
    assert sorted((row["approval_id"], row["tokens"]) for row in granted) == sorted(expected.granted.items())
    assert await pool.fetchval("select count(*) from decisions") == len(expected.granted)
    await made.audited()


# --- what both use ---------------------------------------------------------------------------------------------------


def plain_task(made: World) -> dict[str, Any]:
    """A task of one agent with one turn."""
    name = f"t-{uuid.uuid4().hex[:12]}"
    return {"session_id": f"s-{name}", "task_id": name, "input": "Say something.", "agents": [made.agent()]}


def short_task(made: World) -> dict[str, Any]:
    """A task whose budget is too small for its turn: it waits until an approver grants more."""
    return plain_task(made) | {"budget": {"task": {"limit_tokens": 50, "mode": "approval"}}}


async def pending(made: World) -> list[str]:
    """Ids of the approval requests that wait for a decision."""
    rows = await made.pool.fetch("select approval_id from approvals where state = 'pending'")
    return [row["approval_id"] for row in rows]


async def ended(made: World, task_id: str) -> dict[str, Any]:
    """A task's page once it has ended."""

    async def look() -> dict[str, Any] | None:
        task = await made.tasks.get(TENANT, task_id)
        return task if task["ended_at"] is not None else None

    return await eventually(look, WITHIN_S)


def task_of(answer: dict[str, Any]) -> object:
    return answer["task_id"], answer["workflow_id"]


def whole(answer: dict[str, Any]) -> object:
    return answer
