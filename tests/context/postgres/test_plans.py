"""Reads of a long session read the rows that they ask for, whatever statistics their plans were made with."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress

import pytest

from purser.budget.postgres.connections.pools import Pool
from purser.context.compression.summaries import Method, Summary
from purser.context.errors import MessageNotFound
from purser.context.postgres.conversation.conversations import Conversations
from purser.context.postgres.conversation.pins import Pins
from purser.context.postgres.conversation.summaries import Summaries
from purser.context.postgres.memory.memory import Memory
from purser.context.windows.excerpts import Within
from tests.support.actors import ADA
from tests.support.context.conversations import user

TENANT, SESSION, MODEL = "acme", "s1", "gpt-4o"
LAST, OWN, LAST_OWN = 20_000, "t1/a1", 200
FIRST = [user("hello")] * 2
MOST = 1_000
"""Rows that one read may take: the thread of the agent has 200, and no summary covers the newest 60 of the others."""
FILL = f"""
insert into messages (tenant, session_id, seq, thread, role, body, digest, tokens, characters, origin, part)
select tenant, session_id, n, case when n <= {LAST_OWN} then '{OWN}' else '' end,
       case when n % 3 = 0 then 'user' else 'assistant' end, body, digest, tokens, characters, 'o', n
from messages, generate_series(3, {LAST}) n where seq = 2;
update sessions set next_seq = {LAST + 1};
"""
ANALYZE = f"""
update messages set thread = '' where thread = '{OWN}';
analyze messages;
update messages set thread = '{OWN}' where seq between 3 and {LAST_OWN};
"""
"""Makes statistics of the day when the session had no thread but its own."""
READ = """
select seq_tup_read + (select sum(idx_tup_read) from pg_stat_user_indexes where relname = 'messages')
from pg_stat_user_tables where relname = 'messages'
"""
Reads = Mapping[str, Callable[[], Awaitable[object]]]


@pytest.fixture
async def pool(counting_pool: Pool) -> Pool:
    """One connection, which keeps the plan of each statement's first execution."""
    await counting_pool.execute("set plan_cache_mode = force_generic_plan")
    return counting_pool


async def rows_read(pool: Pool) -> int:
    await pool.execute("select pg_stat_force_next_flush()")
    await pool.execute("select pg_stat_clear_snapshot()")
    return int(await pool.fetchval(READ))


def reads(pool: Pool, number: int) -> Reads:
    """The reads of the session; its message of this number is counted for a further model."""
    conversations, some = Conversations(pool), range(LAST - 20, LAST)
    session = TENANT, SESSION

    def conversation(thread: str, within: Within | None = None) -> Callable[[], Awaitable[object]]:
        return lambda: conversations.conversation(*session, thread, model=MODEL, within=within)

    async def pin() -> None:
        await Pins(pool).pin(*session, 500, author=ADA)
        await Pins(pool).unpin(*session, 500, by=ADA)

    async def recall() -> None:
        await Memory(pool).search(*session, "hello", limit=20)

    return {
        "window of an agent": conversation(OWN, Within(500, 3)),
        "window of the session": conversation("", Within(500, 3)),
        "compression of an agent": conversation(OWN),
        "compression of the session": conversation(""),
        "preview": lambda: conversations.placed(*session, OWN, model=MODEL, within=Within(500, 3)),
        "texts": lambda: conversations.texts(*session, some),
        "messages": lambda: conversations.read(*session, [1]),
        "times": lambda: conversations.times(*session, some),
        "counts": lambda: conversations.tokens(*session, [1], model=MODEL),
        "counts for another model": lambda: conversations.tokens(*session, [number], model="claude-sonnet-5"),
        "page of a thread": lambda: conversations.page(*session, thread=OWN, after=0, limit=10),
        "what is not summarized": lambda: Summaries(pool).uncovered(*session, model=MODEL),
        "append": lambda: conversations.append(*session, FIRST, origin="first"),
        "pins": pin,
        "recall": recall,
    }


async def test_a_read_of_a_long_session_reads_no_other_rows(pool: Pool) -> None:
    await Conversations(pool).append(TENANT, SESSION, FIRST, origin="first")
    for read in reads(pool, 1).values():
        with suppress(MessageNotFound):
            await read()
    await pool.execute(FILL)
    for thread, last in (("", LAST - 60), (OWN, LAST_OWN - 60)):
        covers = Summary(1, 4, last, "earlier", Method.EXTRACTIVE, thread, 100, 20, "d")
        assert await Summaries(pool).store(TENANT, SESSION, thread, covers)
    await Memory(pool).search(TENANT, SESSION, "hello", limit=1)
    taken = {f"{name}, planned while it was empty": rows for name, rows in (await rows_by_read(pool, 3)).items()}
    await pool.execute(ANALYZE)
    taken |= {f"{name}, planned before its other thread": rows for name, rows in (await rows_by_read(pool, 4)).items()}
    assert {name: rows for name, rows in taken.items() if rows > MOST} == {}


async def rows_by_read(pool: Pool, number: int) -> dict[str, int]:
    taken = {}
    for name, read in reads(pool, number).items():
        before = await rows_read(pool)
        await read()
        taken[name] = await rows_read(pool) - before
    return taken
