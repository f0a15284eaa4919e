"""A ledger for tests: budgets in one line, a clock to move, figures at a glance, crowds of callers."""

import asyncio
import multiprocessing
import pathlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib.resources import files
from threading import Barrier
from typing import Any, TypeVar

import pytest

from purser.budget.gate import Amount
from purser.budget.holds import HoldAnswer, HoldRequest, Report, Settlement
from purser.budget.policies.policy import Policy, PolicyPatch
from purser.budget.postgres.audit.audit import audit
from purser.budget.postgres.connections.pools import Connection, Pool, create_pool
from purser.budget.postgres.ledger.ledger import Ledger
from purser.budget.postgres.ledger.policies import Policies
from purser.budget.postgres.ledger.settings import LedgerSettings
from purser.budget.scopes import Kind, Path, Scope
from purser.budget.usage import Usage
from tests.support.actors import TESTER

T = TypeVar("T")
TENANT = "acme"
SESSION = ("session:s1",)
TABLES = ("scopes", "policies", "balances", "holds", "attempts", "entries", "grants", "waiters", "events")
BLOCKED = """
select exists (
    select from pg_stat_activity where datname = current_database() and $1::int = any (pg_blocking_pids(pid)))
"""
MOVING = ("spent", "held", "granted", "overrun")


@dataclass
class Books:
    """The ledger of one tenant, in which only the budgets that a test sets are limited."""

    pool: Pool
    settings: LedgerSettings
    ledger: Ledger
    policies: Policies

    @classmethod
    def on(cls, pool: Pool, **settings: Any) -> "Books":
        """`settings` are fields of `LedgerSettings`."""
        given = LedgerSettings(**({"defaults": {kind: Policy() for kind in Kind}} | settings))
        return cls(pool, given, Ledger(pool, given), Policies(pool, given))

    def at(self, now: datetime | None) -> None:
        """Sets the clock."""
        self.ledger.now = self.policies.now = now

    async def budget(self, scope: str, task: str = "", clear: Sequence[str] = (), **patch: Any) -> None:
        """Stores a policy, or what `task` asks for."""
        await self.policies.set(
            TENANT, Scope.parse(scope), PolicyPatch.parse(patch), clear=clear, by=TESTER, task_id=task
        )

    async def ask(self, key: str, tokens: int, nano: int = 0, *path: str, **fields: Any) -> HoldAnswer:
        """Asks for a hold on `path`, the session unless given; `fields` are those of `HoldRequest`."""
        return await self.ledger.hold(TENANT, request(key, tokens, nano, *path, **fields))

    async def hold(self, key: str, tokens: int, nano: int = 0, *path: str, **fields: Any) -> str:
        """The id of a hold that is admitted."""
        answer = await self.ask(key, tokens, nano, *path, **fields)
        assert answer.hold_id is not None, answer.gate
        return answer.hold_id

    async def settle(self, hold_id: str, tokens: int, nano: int = 0, attempt: int = 1, **options: Any) -> Settlement:
        """Reports what an attempt cost."""
        return await self.ledger.settle(TENANT, hold_id, attempt, report(tokens, nano), **options)

    async def spend(self, key: str, tokens: int, nano: int = 0, *path: str) -> None:
        """Holds and settles the same amount."""
        await self.settle(await self.hold(key, tokens, nano, *path), tokens, nano)

    async def grant(self, scope: str, tokens: int, nano: int = 0, until: datetime | None = None) -> None:
        """What an approval gives, in the window that the scope was last used in."""
        await self.pool.execute(
            "select ledger_grant(b.tenant, b.scope_id, b.window_start, $3, $4, $5, null, null, 'test',"
            " coalesce($6, now()))"
            " from scopes s join balances b using (tenant, scope_id) where s.tenant = $1"
            " and s.kind = split_part($2, ':', 1) and s.id = substr($2, strpos($2, ':') + 1)"
            " order by b.window_start desc limit 1",
            TENANT, scope, tokens, nano, until, self.ledger.now,
        )  # fmt: skip

    async def balance(self, scope: str = SESSION[0]) -> dict[str, int]:
        """Tokens of a scope, all its windows together, without what is zero."""
        return await self._sums(scope, "tokens")

    async def money(self, scope: str = SESSION[0]) -> dict[str, int]:
        """Nano-dollars of a scope, all its windows together, without what is zero."""
        return await self._sums(scope, "nano")

    async def windows(self, scope: str = SESSION[0]) -> dict[datetime, int]:
        """Spent and held tokens by the start of the window, windows without any left out."""
        rows = await self._balances(scope)
        return {row["window_start"]: taken for row in rows if (taken := row["spent_tokens"] + row["held_tokens"])}

    async def entries(self, scope: str = SESSION[0]) -> list[str]:
        """Kinds of the entries of a scope, in order."""
        rows = await self.pool.fetch(
            "select e.kind from entries e join scopes s using (tenant, scope_id)"
            " where s.tenant = $1 and s.kind || ':' || s.id = $2 order by e.window_start, e.seq",
            TENANT, scope,
        )  # fmt: skip
        return [row["kind"] for row in rows]

    async def rows(self) -> dict[str, int]:
        """Rows by table."""
        return {table: await self.pool.fetchval(f"select count(*) from {table}") for table in TABLES}

    async def check(self) -> None:
        """Fails if the audit finds a difference."""
        found = await audit(self.pool)
        assert found.ok, found.differences

    async def _sums(self, scope: str, unit: str) -> dict[str, int]:
        rows = await self._balances(scope)
        return {name: total for name in MOVING if (total := sum(row[f"{name}_{unit}"] for row in rows))}

    async def _balances(self, scope: str) -> list[Any]:
        return await self.pool.fetch(
            "select b.* from balances b join scopes s using (tenant, scope_id)"
            " where s.tenant = $1 and s.kind || ':' || s.id = $2",
            TENANT, scope,
        )  # fmt: skip


def request(key: str, tokens: int, nano: int = 0, *path: str, **fields: Any) -> HoldRequest:
    """An ask on `path`, the session unless given."""
    return HoldRequest(key, Path.parse(path or SESSION), Amount(tokens, nano), **fields)


def report(tokens: int, nano: int = 0) -> Report:
    """What an attempt cost."""
    return Report(Usage(input=tokens), nano)


@asynccontextmanager
async def without(pool: Pool, guard: str, instead: str) -> AsyncIterator[None]:
    """Replaces `guard`, which stands once in the functions of the ledger, until the end of the block.

    Other functions stay as they are: every connection compiles again what is loaded again.
    """
    texts = [text for text in _functions() if guard in text]
    assert [text.count(guard) for text in texts] == [1], f"{guard!r} stands {sum(t.count(guard) for t in texts)} times"
    await _load(pool, texts[0].replace(guard, instead))
    try:
        yield
    finally:
        await _load(pool, texts[0])


@cache
def _functions() -> list[str]:
    """Each function of the ledger, of the schema files that hold functions alone."""
    schema = pathlib.Path(str(files("purser.budget.postgres").joinpath("schema")))
    texts = [file.read_text("utf-8") for file in schema.rglob("*.sql")]
    texts = [text for text in texts if not re.search(r"^create (?!function)", text, re.MULTILINE)]
    return [one for text in texts for one in re.split(r"^(?=create function )", text, flags=re.MULTILINE)]


async def _load(pool: Pool, function: str) -> None:
    await pool.execute(function.replace("create function", "create or replace function"))


async def meet(
    pool: Pool,
    first: Callable[[Connection], Awaitable[Any]],
    then: Callable[[], Awaitable[T]],
    last: Callable[[Connection], Awaitable[Any]] | None = None,
) -> T:
    """Runs `then` while the transaction of `first` is open, as far as it gets; commits, and returns its result.

    With `last` that transaction does something more while `then` waits, which shows whether both lock in one order.
    """
    async with AsyncExitStack() as ending, pool.acquire() as one, one.transaction():
        await first(one)
        other = asyncio.ensure_future(then())
        # Whatever fails here: what it writes once the transaction has ended must not reach the next test.
        ending.push_async_callback(asyncio.wait, [other])
        while not other.done() and not await somebody_waits(pool):
            await asyncio.sleep(0.005)
        if last is not None:
            await last(one)
    return await other


async def no_attempts(own: Connection) -> None:
    """Lets no attempt start until the transaction ends; for `meet`."""
    await own.execute("lock table attempts in exclusive mode")


async def meanwhile(pool: Pool, first: Callable[[Connection], Awaitable[Any]], then: Callable[[], Awaitable[T]]) -> T:
    """Runs `then` while the transaction of `first` is open, and returns its result; fails once it waits for `first`.

    A limit of time would fail too, but an open transaction keeps the checkpoints of every test on the server waiting.
    """
    async with pool.acquire() as one, one.transaction():
        await first(one)
        other = asyncio.ensure_future(then())
        while not other.done():
            if await pool.fetchval(BLOCKED, one.get_server_pid()):
                other.cancel()
                await asyncio.wait([other])
                pytest.fail("it waits for the open transaction")
            await asyncio.sleep(0.005)
        return await other


async def somebody_waits(pool: Pool) -> bool:
    """Whether a statement in this database waits for a lock."""
    return await waiting_for_locks(pool) > 0


async def waiting_for_locks(connection: Pool | Connection) -> int:
    """How many connections to this database wait for a lock."""
    count: int = await connection.fetchval(
        "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
    )
    return count


async def until_waiting(pool: Pool, count: int) -> None:
    """Returns once this many connections to this database wait for a lock."""
    async with asyncio.timeout(60):
        while await waiting_for_locks(pool) < count:
            await asyncio.sleep(0.005)


def crowd(dsn: str, work: Callable[[Pool, int], Awaitable[T]], processes: int = 3, connections: int = 20) -> list[T]:
    """Runs `work(pool, index)` in processes that start together, each with its own connections.

    `work` is a function of a module: it is imported by name in each process.
    """
    # They are forked from a process that has imported what all of them need, and nothing else.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["pytest", __name__])
    with context.Manager() as manager, ProcessPoolExecutor(processes, context) as pool:
        barrier = manager.Barrier(processes)
        jobs = [pool.submit(_member, dsn, work, index, connections, barrier) for index in range(processes)]
        return [job.result() for job in jobs]


def _member(dsn: str, work: Callable[[Pool, int], Awaitable[T]], index: int, connections: int, barrier: Barrier) -> T:
    async def run() -> T:
        async with await create_pool(dsn, size=connections, timeout_s=60) as pool:
            await asyncio.gather(*(pool.fetchval("select pg_sleep(0.05)") for _ in range(connections)))
            await asyncio.to_thread(barrier.wait, 60)
            return await work(pool, index)

    return asyncio.run(run())
