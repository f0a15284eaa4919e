"""Deletion of sessions on a real Postgres: texts are deleted, figures and a tombstone remain."""

import asyncio
from datetime import UTC, datetime

import pytest

from purser.budget.gate import Amount
from purser.budget.holds import HoldRequest
from purser.budget.postgres.connections.pools import Connection, Pool
from purser.budget.scopes import Path
from purser.context.compression.summaries import Method, Summary
from purser.context.errors import OriginReused, OtherUser, SessionBusy, SessionDeleted, SessionNotFound
from purser.context.postgres.conversation.conversations import Conversations
from purser.context.postgres.conversation.facts import Facts
from purser.context.postgres.conversation.pins import Pins
from purser.context.postgres.conversation.placeholders import Placeholders
from purser.context.postgres.conversation.summaries import Summaries
from purser.context.postgres.memory.memory import Memory
from purser.context.postgres.sessions.preferences import PersonalSettings
from purser.context.postgres.sessions.retention import Retention
from purser.context.postgres.sessions.sessions import Sessions
from tests.support.actors import ANA, BEN
from tests.support.context.conversations import talk, user
from tests.support.ledger import Books, until_waiting

TENANT, SESSION = "acme", "s1"
CANARY = "CANARY-5e1d"


class OtherTextStore:
    """A text store without texts, which can report sessions as busy."""

    def __init__(self) -> None:
        self.busy: set[str] = set()
        self.forgotten: list[str] = []

    async def forget_session(self, tenant: str, session_id: str, connection: Connection) -> None:
        if session_id in self.busy:
            raise SessionBusy(f"a task of {session_id!r} has not ended")
        self.forgotten.append(session_id)


@pytest.fixture
def text_store() -> OtherTextStore:
    return OtherTextStore()


@pytest.fixture
def retention(pool: Pool, text_store: OtherTextStore) -> Retention:
    """The store."""
    return Retention(pool, text_store)


async def fill(pool: Pool, tenant: str = TENANT, session: str = SESSION) -> None:
    """A session with rows in every table."""
    conversations = Conversations(pool)
    await conversations.append(tenant, session, [*talk(8), user(f"say {CANARY}")], origin="o1", user_id="u1")
    await conversations.append(tenant, session, [user(CANARY)], origin="o2", thread="t1/a1")
    key = f"{CANARY}-{session}"
    summary = Summary(1, 2, 6, CANARY, Method.EXTRACTIVE, key, 100, 20, "digest")
    assert await Summaries(pool).store(tenant, session, "", summary)
    await Pins(pool).pin(tenant, session, 3, author=ANA, reason=CANARY)
    await PersonalSettings(pool).set_for_session(tenant, session, {"tone": CANARY}, by=ANA)
    assert await Facts(pool, Placeholders(pool)).all(tenant, session)
    assert (await Memory(pool).search(tenant, session, CANARY, limit=1)).found
    text, _ = await Placeholders(pool).redacted(tenant, session, lambda redactor: redactor.redact("ana@example.com"))
    assert text == "[EMAIL_1]"


async def texts(pool: Pool) -> str:
    """The content of the whole database."""
    tables = await pool.fetch("select tablename from pg_tables where schemaname = 'public'")
    found = [await pool.fetchval(f'select json_agg(t)::text from "{row[0]}" t') for row in tables]
    return "\n".join(one for one in found if one)


async def grow_old(pool: Pool, days: int, session: str = SESSION) -> None:
    """Moves a session's last append `days` days into the past."""
    await pool.execute("update sessions set active_on = active_on - $1::integer where session_id = $2", days, session)


# --- on request ------------------------------------------------------------------------------------------------------


async def test_every_text_goes_and_a_tombstone_with_figures_stays(retention: Retention, pool: Pool) -> None:
    await fill(pool)
    tokens = await pool.fetchval("select sum((tokens ->> 'o200k_base')::bigint) from messages")
    assert CANARY in await texts(pool)
    left = await retention.delete(TENANT, SESSION, by=ANA)
    assert CANARY.casefold() not in (await texts(pool)).casefold()
    assert (left.session_id, left.user_id, left.messages, left.tokens) == (SESSION, "u1", 10, tokens)
    assert (left.summaries, left.pins, left.deleted_by, left.reason) == (1, 1, "ana", "request")
    assert left.active_on == datetime.now(UTC).date()


async def test_the_ledger_is_not_touched(retention: Retention, pool: Pool) -> None:
    await fill(pool)
    await Books.on(pool).ledger.hold(TENANT, HoldRequest("k1", Path.parse([f"session:{SESSION}"]), Amount(100)))
    figures = "select json_agg(e order by entry_id)::text from entries e"
    before = await pool.fetchval(figures)
    await retention.delete(TENANT, SESSION, by=ANA)
    assert await pool.fetchval(figures) == before


async def test_other_sessions_and_tenants_keep_theirs(retention: Retention, pool: Pool) -> None:
    for tenant, session in ((TENANT, SESSION), (TENANT, "s2"), ("other", SESSION)):
        await fill(pool, tenant, session)
    await retention.delete(TENANT, SESSION, by=ANA)
    referring = await pool.fetch(
        "select conrelid::regclass::text from pg_constraint"
        " where contype = 'f'"
        " and confrelid in ('sessions'::regclass, 'messages'::regclass, 'memory_sessions'::regclass)"
    )
    tables = {"sessions", *(row[0] for row in referring)}
    assert {
        "messages",
        "summaries",
        "pins",
        "facts",
        "fact_progress",
        "memory_turns",
        "placeholders",
        "session_settings",
    } <= tables
    for table in tables:
        remaining = await pool.fetch(f"select distinct tenant, session_id from {table} order by 1")
        assert {tuple(row) for row in remaining} <= {(TENANT, "s2"), ("other", SESSION)}, table


async def test_deleting_again_answers_with_the_same_tombstone(retention: Retention, pool: Pool) -> None:
    await fill(pool)
    left = await retention.delete(TENANT, SESSION, by=ANA)
    assert await retention.delete(TENANT, SESSION, by=BEN) == left
    assert await pool.fetchval("select count(*) from changes where action = 'session.delete'") == 1


async def test_what_never_was_cannot_be_deleted(retention: Retention, pool: Pool) -> None:
    await fill(pool)
    for tenant, session in ((TENANT, "s2"), ("other", SESSION)):
        with pytest.raises(SessionNotFound):
            await retention.delete(tenant, session, by=ANA)
    assert await pool.fetchval("select count(*) from deleted_sessions") == 0


async def test_a_deletion_is_audited(retention: Retention, pool: Pool) -> None:
    await fill(pool)
    left = await retention.delete(TENANT, SESSION, by=ANA)
    asked = "select tenant, by, action, target, before, after from changes where action = 'session.delete'"
    [change] = await pool.fetch(asked)
    figures = {"messages": 10, "tokens": left.tokens, "summaries": 1}
    assert tuple(change) == (TENANT, "ana", "session.delete", "session:s1", figures, None)


async def test_while_something_of_it_runs_nothing_is_deleted(
    retention: Retention, text_store: OtherTextStore, pool: Pool
) -> None:
    await fill(pool)
    before = await texts(pool)
    text_store.busy.add(SESSION)
    with pytest.raises(SessionBusy, match="a task of 's1'"):
        await retention.delete(TENANT, SESSION, by=ANA)
    text_store.busy.clear()
    assert await texts(pool) == before
    await Summaries(pool).claim(TENANT, SESSION, "", "k9", 60)
    with pytest.raises(SessionBusy, match="being compressed"):
        await retention.delete(TENANT, SESSION, by=ANA)
    await Summaries(pool).unclaim(TENANT, SESSION, "", "k9")
    await retention.delete(TENANT, SESSION, by=ANA)


# --- a deleted id stays deleted --------------------------------------------------------------------------------------


async def test_the_id_of_a_deleted_session_is_never_used_again(retention: Retention, pool: Pool) -> None:
    await fill(pool)
    await retention.delete(TENANT, SESSION, by=ANA)
    with pytest.raises(SessionDeleted, match="'s1' was deleted"):
        await Conversations(pool).append(TENANT, SESSION, [user("a")], origin="o1")
    with pytest.raises(SessionDeleted):
        await PersonalSettings(pool).set_for_session(TENANT, SESSION, {"tone": "kind"}, by=ANA)
    with pytest.raises(SessionDeleted, match="deleted by ana at"):
        await Sessions(pool).get(TENANT, SESSION)
    with pytest.raises(SessionDeleted):
        await Pins(pool).pin(TENANT, SESSION, 3, author=ANA)
    assert await pool.fetchval("select count(*) from sessions") == 0
    assert await Conversations(pool).append("other", SESSION, [user("a")], origin="o1") == [1]


async def test_an_append_that_waited_for_the_deletion_finds_the_session_gone(retention: Retention, pool: Pool) -> None:
    await fill(pool)
    conversations = Conversations(pool)
    async with pool.acquire() as connection:
        transaction = connection.transaction()
        await transaction.start()
        await connection.execute("select from sessions for update")
        deleting = asyncio.create_task(retention.delete(TENANT, SESSION, by=ANA))
        await until_waiting(pool, 1)
        appending = asyncio.create_task(conversations.append(TENANT, SESSION, [user("late")], origin="o9"))
        await until_waiting(pool, 2)
        await transaction.commit()
    await deleting
    with pytest.raises(SessionDeleted):
        await appending
    assert await pool.fetchval("select count(*) from messages") == 0


async def test_appends_and_a_deletion_at_once_leave_no_message_behind(retention: Retention, pool: Pool) -> None:
    await fill(pool)
    conversations = Conversations(pool)
    done = await asyncio.gather(
        *(conversations.append(TENANT, SESSION, [user("a")], origin=f"p{number}") for number in range(20)),
        retention.delete(TENANT, SESSION, by=ANA),
        return_exceptions=True,
    )
    assert {type(one) for one in done[:-1]} <= {list, SessionDeleted}
    stored = sum(isinstance(one, list) for one in done[:-1])
    left = await retention.delete(TENANT, SESSION, by=ANA)
    assert left.messages == 10 + stored
    assert await pool.fetchval("select count(*) from messages") == 0


# --- whose a session is ----------------------------------------------------------------------------------------------


async def test_a_session_belongs_to_the_first_user_that_an_append_names(pool: Pool) -> None:
    conversations, sessions = Conversations(pool), Sessions(pool)
    await conversations.append(TENANT, SESSION, [user("a")], origin="o1")
    assert (await sessions.get(TENANT, SESSION)).user_id is None
    await conversations.append(TENANT, SESSION, [user("b")], origin="o2", user_id="u1")
    await conversations.append(TENANT, SESSION, [user("c")], origin="o3")
    assert (await sessions.get(TENANT, SESSION)).user_id == "u1"
    for origin in ("o4", "o2"):
        with pytest.raises(OtherUser, match="'s1' belongs to another user than 'u2'"):
            await conversations.append(TENANT, SESSION, [user("b")], origin=origin, user_id="u2")
    assert await conversations.last_seq(TENANT, SESSION) == 3
    assert await conversations.append(TENANT, SESSION, [user("b")], origin="o2", user_id="u1") == [2]


async def test_a_repeated_append_may_name_the_user_for_the_first_time(pool: Pool) -> None:
    conversations, sessions = Conversations(pool), Sessions(pool)
    await conversations.append(TENANT, SESSION, [user("a")], origin="o1")
    with pytest.raises(OriginReused):
        await conversations.append(TENANT, SESSION, [user("b")], origin="o1", user_id="u2")
    assert (await sessions.get(TENANT, SESSION)).user_id is None
    named = await asyncio.gather(
        *(conversations.append(TENANT, SESSION, [user("a")], origin="o1", user_id=name) for name in ("u1", "u2")),
        return_exceptions=True,
    )
    assert [1] in named
    assert {type(one) for one in named} == {list, OtherUser}
    assert (await sessions.get(TENANT, SESSION)).user_id == ("u1" if named[0] == [1] else "u2")


# --- by age ----------------------------------------------------------------------------------------------------------


async def test_sessions_are_kept_for_ever_unless_a_policy_says_otherwise(retention: Retention, pool: Pool) -> None:
    await fill(pool)
    await grow_old(pool, 10_000)
    assert await retention.sweep() == 0
    assert (await retention.policy(TENANT)).days is None


async def test_old_sessions_go_and_young_ones_stay(retention: Retention, pool: Pool) -> None:
    for tenant, session in ((TENANT, "old"), (TENANT, "edge"), (TENANT, "young"), ("other", "old2")):
        await fill(pool, tenant, session)
    for session, days in (("old", 31), ("edge", 30), ("old2", 31)):
        await grow_old(pool, days, session)
    await retention.set_policy(TENANT, 30, by=ANA)
    assert await retention.sweep() == 1
    remaining = await pool.fetch("select session_id from sessions order by 1")
    assert [row[0] for row in remaining] == ["edge", "old2", "young"]
    [stone] = await pool.fetch("select session_id, deleted_by, reason, messages from deleted_sessions")
    assert tuple(stone) == ("old", "sweeper", "retention", 10)
    assert await retention.sweep() == 0


async def test_an_append_keeps_a_session_young(retention: Retention, pool: Pool) -> None:
    await fill(pool)
    await grow_old(pool, 31)
    await retention.set_policy(TENANT, 30, by=ANA)
    await Conversations(pool).append(TENANT, SESSION, [user("again")], origin="o9")
    assert await retention.sweep() == 0


async def test_an_append_while_the_sweeper_comes_by_saves_the_session(retention: Retention, pool: Pool) -> None:
    await fill(pool)
    await grow_old(pool, 31)
    await retention.set_policy(TENANT, 30, by=ANA)
    async with pool.acquire() as connection:
        transaction = connection.transaction()
        await transaction.start()
        await Conversations(pool).append(TENANT, SESSION, [user("again")], origin="o9", connection=connection)
        sweeping = asyncio.create_task(retention.sweep())
        await until_waiting(pool, 1)
        await transaction.commit()
    assert await sweeping == 0
    assert await Conversations(pool).last_seq(TENANT, SESSION) == 11


async def test_what_still_runs_is_left_and_does_not_stop_the_others(
    retention: Retention, text_store: OtherTextStore, pool: Pool
) -> None:
    for session in ("a", "b", "c"):
        await fill(pool, session=session)
        await grow_old(pool, 31, session)
    text_store.busy = {"a", "b"}
    await retention.set_policy(TENANT, 30, by=ANA)
    assert await retention.sweep() == 1
    text_store.busy.clear()
    assert await retention.sweep() == 2


async def test_sweepers_at_once_delete_each_session_once(retention: Retention, pool: Pool) -> None:
    for number in range(10):
        await fill(pool, session=f"s{number}")
        await grow_old(pool, 31, f"s{number}")
    await retention.set_policy(TENANT, 30, by=ANA)
    assert sum(await asyncio.gather(*(retention.sweep() for _ in range(3)))) == 10
    assert await pool.fetchval("select count(*) from deleted_sessions") == 10


async def test_a_policy_is_versioned_and_audited(retention: Retention, pool: Pool) -> None:
    assert (await retention.set_policy(TENANT, 30, by=ANA)).version == 1
    assert (await retention.set_policy(TENANT, 30, by=BEN)).changed_by == "ana"
    after = await retention.set_policy(TENANT, None, by=BEN)
    assert (after.version, after.days, after.changed_by) == (2, None, "ben")
    assert await retention.policy("other") != after
    changes = await pool.fetch("select by, action, target, before, after from changes order by change_id")
    assert [tuple(change) for change in changes] == [
        ("ana", "retention.set", "tenant:acme", {"days": None}, {"days": 30}),
        ("ben", "retention.set", "tenant:acme", {"days": 30}, {"days": None}),
    ]
