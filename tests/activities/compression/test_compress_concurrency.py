"""Compressions during concurrent appends, with other workers, and with the death of their worker at any moment."""

import asyncio
import random
from collections.abc import Callable, Coroutine, Generator
from typing import Any

import pytest

from purser.budget.postgres.connections.pools import Pool, create_pool
from purser.compose.demo.provider import Fault, FaultKind, Provider
from purser.context.settings import ContextSettings
from purser.workflows.contract import CompressResult
from tests.support.context.compressing import MODEL, SUMMARY, TENANT, CompressionHarness, request
from tests.support.context.conversations import talk, user
from tests.support.databases import CLEANER
from tests.support.runs.proof import sized, some
from tests.support.servers.postgres_proxy import Trap, When, postgres_proxy
from tests.support.world import eventually

# LiteLLM and its types warn of themselves at import and at first use.
pytestmark = pytest.mark.filterwarnings("ignore")

TRIALS, AT_ONCE = sized(8, 200), 20
SESSIONS = sized(4, 20)

SMALL = ContextSettings(primers_count=1, recents_count=4)


@pytest.mark.proof
async def test_of_messages_appended_while_slow_compressions_run_none_is_lost_and_none_covered_twice(
    pool: Pool, provider: Provider, seed: int
) -> None:
    harness, chance = CompressionHarness.on(pool, provider), random.Random(seed)
    harness.answer(SUMMARY)
    provider.control.add_fault(Fault(kind=FaultKind.SLOW, delay_ms=100, times=None))
    activity = harness.activity(model=True, settings=SMALL)
    turns = asyncio.Semaphore(AT_ONCE)

    def versions(number: int) -> int:
        return 2 if number % 4 == 0 else 1

    async def trial(number: int) -> None:
        session_id, said = f"s{number}", 40
        await harness.say(*talk(40), session_id=session_id)
        for version in range(1, versions(number) + 1):
            key = f"{number}-{version}"
            running = asyncio.create_task(activity.compress_context(request(key, session_id=session_id)))
            for _ in range(chance.randint(2, 6)):
                await asyncio.sleep(chance.random() * 0.06)
                await harness.say(user(f"meanwhile {said}"), session_id=session_id)
                said += 1
            await running
            await _partitioned(harness, session_id, said)
            await harness.say(*talk(40), session_id=session_id)
            said += 40

    async def in_turn(number: int) -> None:
        async with turns:
            await trial(number)

    await asyncio.gather(*(in_turn(number) for number in range(TRIALS)))
    assert await pool.fetchval("select count(*) from summaries") == sum(map(versions, range(TRIALS)))
    await harness.books.check()


async def _partitioned(harness: CompressionHarness, session_id: str, said: int) -> None:
    """Checks that each message is either verbatim or covered by one layer."""
    conversation = await harness.conversations.conversation(TENANT, session_id, model=MODEL)
    summary = await harness.summaries.latest(TENANT, session_id, model=MODEL)
    assert summary is not None
    verbatim = [seq for group in conversation.groups for seq in group.seqs]
    covered = list(range(summary.first_seq, summary.last_seq + 1))
    assert sorted([*verbatim, *covered]) == list(range(1, said + 1))
    assert sum(layer.messages for layer in summary.layers) == len(covered)
    stored = await harness.conversations.read(TENANT, session_id, range(1, said + 1))
    assert len(stored) == said


@pytest.mark.proof
async def test_of_two_workers_that_compress_one_session_one_asks_the_model(
    pool: Pool, dsn: str, provider: Provider
) -> None:
    harness = CompressionHarness.on(pool, provider)
    harness.answer(SUMMARY)
    async with await create_pool(dsn) as other_pool:
        workers = [harness.activity(model=True), CompressionHarness.on(other_pool, provider).activity(model=True)]
        for number in range(SESSIONS):
            session_id = f"s{number}"
            await harness.say(*talk(60), session_id=session_id)
            asked = [
                worker.compress_context(request(f"{number}-{place}", session_id=session_id))
                for place, worker in enumerate(workers)
            ]
            found = await asyncio.gather(*asked)
            assert sorted(one.version for one in found) == [0, 1]
            assert {one.reason for one in found if not one.version} <= {"busy", "nothing_to_cover"}
    assert len(provider.served()) == SESSIONS
    await harness.books.check()


# --- death at every await --------------------------------------------------------------------------------------------


class Steps:
    """Awaits a coroutine and calls `strike` at its await number `at`."""

    def __init__(self, work: Coroutine[Any, Any, CompressResult], at: int, strike: Callable[[], None]) -> None:
        self._work = work
        self._at = at
        self._strike = strike
        self.count = 0

    def __await__(self) -> Generator[Any, Any, CompressResult]:
        go: Callable[[Any], Any] = self._work.send
        given: Any = None
        while True:
            try:
                waits_for = go(given)
            except StopIteration as end:
                result: CompressResult = end.value
                return result
            self.count += 1
            if self.count == self._at:
                self._strike()
            try:
                given, go = (yield waits_for), self._work.send
            except BaseException as error:
                given, go = error, self._work.throw


async def _interrupted(harness: CompressionHarness, session_id: str, at: int, *, kill: bool) -> int:
    """Compresses a session and cancels it at an await, or also kills its connections; returns the number of awaits."""
    tasks: list[asyncio.Task[CompressResult]] = []

    def strike() -> None:
        if kill:
            harness.pool.terminate()
        tasks[0].cancel()

    steps = Steps(harness.activity(model=True).compress_context(request(session_id, session_id=session_id)), at, strike)

    async def stepping() -> CompressResult:
        return await steps

    tasks.append(asyncio.create_task(stepping()))
    await asyncio.gather(*tasks, return_exceptions=True)
    return steps.count


async def _are_gone(pool: Pool) -> bool:
    """Whether only connections of `pool` are left in its database, and the one that empties it between tests."""
    clients = "datname = current_database() and backend_type = 'client backend' and application_name <> $1"
    count: int = await pool.fetchval(f"select count(*) from pg_stat_activity where {clients}", CLEANER)
    return count <= pool.get_size()


@pytest.mark.proof
@pytest.mark.parametrize("kill", [False, True], ids=["cancelled", "killed"])
async def test_a_death_at_any_await_leaves_the_state_before_or_after(
    pool: Pool, dsn: str, provider: Provider, kill: bool
) -> None:
    harness = CompressionHarness.on(pool, provider)
    harness.answer(SUMMARY)
    await harness.say(*talk(60), session_id="whole")
    async with await create_pool(dsn, size=3) as whole_pool:  # opens its connections, as those below do
        awaits = await _interrupted(CompressionHarness.on(whole_pool, provider), "whole", 0, kill=False)
    assert awaits > 20
    [whole] = await harness.versions()
    seen: set[int] = set()
    for at in sorted({1, awaits, *some(range(1, awaits), 8)}):
        session_id = f"s{at}"
        await harness.say(*talk(60), session_id=session_id)
        async with await create_pool(dsn, size=3) as mortal:
            await _interrupted(CompressionHarness.on(mortal, provider), session_id, at, kill=kill)
        await eventually(lambda: _are_gone(pool))  # Postgres ends what a dead client has sent before it notices
        assert kill or await harness.open_holds() == 0, "who is only cancelled settles or releases"
        rows = [row for row in await harness.versions() if row["session_id"] == session_id]
        assert len(rows) in (0, 1)
        seen.add(len(rows))
        if rows:
            assert (rows[0]["first_seq"], rows[0]["last_seq"]) == (whole["first_seq"], whole["last_seq"])
        found = await harness.activity(model=True).compress_context(request(session_id, session_id=session_id))
        assert found.version == 1, "the next try ends what the first began"
        assert await harness.open_holds() == 0
    assert seen == {0, 1}
    await harness.books.check()


@pytest.mark.parametrize("when", When)
@pytest.mark.parametrize(
    ("statement", "commit"),
    [("insert into summaries", False), ("ledger_settle", False), ("ledger_settle", True)],
    ids=["version", "settlement", "commit"],
)
async def test_version_and_settlement_are_stored_together_or_not_at_all(
    pool: Pool, dsn: str, provider: Provider, statement: str, commit: bool, when: When
) -> None:
    harness = CompressionHarness.on(pool, provider)
    harness.answer(SUMMARY)
    await harness.say(*talk(60))
    async with postgres_proxy(dsn) as proxy, await create_pool(proxy.dsn, size=3) as mortal:
        tasks: list[asyncio.Task[CompressResult]] = []

        async def die() -> None:
            mortal.terminate()
            tasks[0].cancel()

        trap = proxy.set(Trap(statement, when, die, commit))
        tasks.append(
            asyncio.create_task(
                CompressionHarness.on(mortal, provider).activity(model=True).compress_context(request())
            )
        )
        await asyncio.gather(*tasks, return_exceptions=True)
        assert trap.sprung.is_set()
    stored = len(await harness.versions())
    assert (stored, await harness.attempts()) in ((0, [(1, "started")]), (1, [(1, "reported")]))
    assert stored == (commit and when is When.AFTER)
    assert (await harness.activity(model=True).compress_context(request())).version == 1
    assert await harness.open_holds() == 0
    await harness.books.check()
