"""Conversations on a real Postgres: idempotent appends, immutable messages, planning without texts."""

import asyncio
import uuid

import pytest

from purser.budget.postgres.connections.pools import Pool, create_pool
from purser.context.compression.summaries import Method, Summary
from purser.context.conversation.messages import Message
from purser.context.errors import MessageNotFound, OriginReused
from purser.context.postgres.conversation.conversations import Conversations
from purser.context.postgres.conversation.summaries import Summaries
from purser.context.tokens import count_message
from purser.context.windows.excerpts import Within
from tests.support.context.conversations import assistant, call, calling, result, talk, user

TENANT, SESSION, MODEL = "acme", "s1", "gpt-4o"


@pytest.fixture
def conversations(pool: Pool) -> Conversations:
    """The store."""
    return Conversations(pool)


async def append(conversations: Conversations, *messages: Message, thread: str = "") -> list[int]:
    """Appends with a unique origin."""
    return await conversations.append(TENANT, SESSION, messages, origin=str(uuid.uuid4()), thread=thread)


async def cover(pool: Pool, first: int, last: int, *, version: int = 1, thread: str = "") -> bool:
    """Stores a summary of this range."""
    key = str(uuid.uuid4())
    summary = Summary(version, first, last, "earlier", Method.EXTRACTIVE, key, 100, 20, "digest")
    return await Summaries(pool).store(TENANT, SESSION, thread, summary)


async def seen(conversations: Conversations, thread: str = "") -> list[int]:
    """Sequence numbers that planning gets."""
    found = await conversations.conversation(TENANT, SESSION, thread, model=MODEL)
    return [ref.seq for ref in found.messages]


# --- append ----------------------------------------------------------------------------------------------------------


async def test_numbers_count_from_1_along_the_session_whatever_the_thread(conversations: Conversations) -> None:
    assert await conversations.last_seq(TENANT, SESSION) == 0
    assert await append(conversations, user("a"), assistant("b")) == [1, 2]
    assert await append(conversations, assistant("c"), thread="t1/a1") == [3]
    assert await append(conversations, user("d")) == [4]
    assert await conversations.last_seq(TENANT, SESSION) == 4
    threads = [[one.seq for one in await conversations.read_thread(TENANT, SESSION, name)] for name in ("", "t1/a1")]
    assert threads == [[1, 2, 4], [3]]


async def test_tenants_and_sessions_are_apart(conversations: Conversations) -> None:
    await append(conversations, user("a"))
    assert await conversations.append("other", SESSION, [user("b")], origin="o") == [1]
    assert await conversations.append(TENANT, "s2", [user("c")], origin="o") == [1]
    with pytest.raises(MessageNotFound, match="session 's1' has no message 2"):
        await conversations.read(TENANT, SESSION, [1, 2])


async def test_the_same_origin_again_adds_nothing(conversations: Conversations, pool: Pool) -> None:
    messages = [user("a"), assistant("b")]
    first = await conversations.append(TENANT, SESSION, messages, origin="o1")
    assert await conversations.append(TENANT, SESSION, messages, origin="o1") == first == [1, 2]
    assert await pool.fetchval("select count(*) from messages") == 2


async def test_an_origin_cannot_be_reused_for_other_messages(conversations: Conversations, pool: Pool) -> None:
    await conversations.append(TENANT, SESSION, [user("a"), user("b")], origin="o1")
    for others in ([user("a")], [user("a"), user("c")], [user("a"), user("b"), user("c")]):
        with pytest.raises(OriginReused, match="'o1'"):
            await conversations.append(TENANT, SESSION, others, origin="o1")
    assert await pool.fetchval("select count(*) from messages") == 2
    assert await append(conversations, user("d")) == [3]


async def test_the_same_append_at_once_from_many_adds_once(conversations: Conversations, pool: Pool) -> None:
    messages = talk(5)
    found = await asyncio.gather(*(conversations.append(TENANT, SESSION, messages, origin="o1") for _ in range(20)))
    assert found == [[1, 2, 3, 4, 5]] * 20
    assert await pool.fetchval("select count(*) from messages") == 5
    assert await conversations.last_seq(TENANT, SESSION) == 5


@pytest.mark.parametrize("shares", [False, True], ids=["a transaction of its own", "a transaction of the caller"])
async def test_of_different_appends_at_once_under_one_origin_one_is_stored_whole(
    conversations: Conversations, pool: Pool, shares: bool
) -> None:
    await append(conversations, user("first"))
    others = [user("b"), user("c"), user("d")]

    async def later() -> str:
        async with pool.acquire() as own, own.transaction():
            with pytest.raises(OriginReused):
                await conversations.append(TENANT, SESSION, others, origin="o1", connection=own if shares else None)
            return str(await own.fetchval("select 'usable'"))

    async with pool.acquire() as holder:
        transaction = holder.transaction()
        await transaction.start()
        await conversations.append(TENANT, SESSION, [user("a")], origin="o1", connection=holder)
        waiting = asyncio.create_task(later())
        while not await pool.fetchval("select exists (select from pg_locks where not granted)"):
            await asyncio.sleep(0.01)
        await transaction.commit()
    assert await waiting == "usable"
    assert [one.message.text for one in await conversations.read_thread(TENANT, SESSION)] == ["first", "a"]
    assert await conversations.append(TENANT, SESSION, [user("a")], origin="o1") == [2]
    assert await append(conversations, user("e")) == [3]


async def test_appends_at_once_get_different_numbers_without_gaps(conversations: Conversations) -> None:
    found = await asyncio.gather(*(append(conversations, *talk(3)) for _ in range(30)))
    assert sorted(seq for seqs in found for seq in seqs) == list(range(1, 91))
    assert all(seqs == list(range(seqs[0], seqs[0] + 3)) for seqs in found), "the messages of an append are consecutive"


async def test_an_append_shares_the_callers_transaction(conversations: Conversations, pool: Pool) -> None:
    async with pool.acquire() as connection:
        transaction = connection.transaction()
        await transaction.start()
        await conversations.append(TENANT, SESSION, [user("a")], origin="o1", connection=connection)
        await transaction.rollback()
    assert await conversations.last_seq(TENANT, SESSION) == 0
    assert await conversations.append(TENANT, SESSION, [user("b")], origin="o1") == [1]


async def test_nothing_appended_is_nothing_written(conversations: Conversations, pool: Pool) -> None:
    assert await append(conversations) == []
    assert await pool.fetchval("select count(*) from sessions") == 0


# --- read ------------------------------------------------------------------------------------------------------------


async def test_messages_come_back_to_the_character(conversations: Conversations) -> None:
    odd = "\u2028, 😀, \ufffd, " + "x" * 1_000_000
    picture = ({"zoom": 1, "type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},)
    messages = [
        user(odd),
        Message("user", picture, name="anna", pinned=True),
        Message("assistant", None, tool_calls=(call("c1", '{"b": 1,  "a": "\\u0000"}'),)),
        result("c1", ""),
    ]
    await append(conversations, *messages)
    stored = await conversations.read(TENANT, SESSION, [4, 2, 3, 1])
    assert [one.message for one in stored.values()] == messages
    assert list(stored) == [1, 2, 3, 4]
    content = stored[2].message.content
    assert isinstance(content, tuple)
    assert list(content[0]) == ["zoom", "type", "image_url"], "the order of keys decides whether a prompt cache hits"


async def test_what_postgres_cannot_store_is_replaced_and_the_same_append_again_adds_nothing(
    conversations: Conversations,
) -> None:
    odd = user("NUL \0, half a pair \ud83d")
    for _ in range(2):
        assert await conversations.append(TENANT, SESSION, [odd], origin="o1") == [1]
    [stored] = (await conversations.read(TENANT, SESSION, [1])).values()
    assert stored.message.text == "NUL \ufffd, half a pair \ufffd"


async def test_a_new_pool_finds_everything(dsn: str) -> None:
    async with await create_pool(dsn) as pool:
        await append(Conversations(pool), *talk(10))
    async with await create_pool(dsn) as pool:
        stored = await Conversations(pool).read_thread(TENANT, SESSION, first=3, last=5)
    assert [(one.seq, one.message) for one in stored] == list(zip([3, 4, 5], talk(10)[2:5], strict=True))


# --- by reference ----------------------------------------------------------------------------------------------------


async def test_planning_gets_counts_and_links(conversations: Conversations) -> None:
    messages = [Message("system", "be brief"), user("a", pinned=True), calling("c1", "c2"), result("c1"), result("c2")]
    await append(conversations, *messages)
    found = await conversations.conversation(TENANT, SESSION, model=MODEL)
    assert [ref.tokens for ref in found.messages] == [count_message(one.to_openai(), MODEL).tokens for one in messages]
    assert [ref.call_ids for ref in found.messages] == [(), (), ("c1", "c2"), (), ()]
    assert [ref.tool_call_id for ref in found.messages] == [None, None, None, "c1", "c2"]
    assert [ref.fixed for ref in found.messages] == [True, True, False, False, False]
    assert [len(one.refs) for one in found.groups] == [1, 1, 3]


async def test_counts_are_stored_with_the_message_for_both_vocabularies_and_the_model(
    conversations: Conversations, pool: Pool
) -> None:
    await conversations.append(TENANT, SESSION, [user("你好，世界")], origin="o1", model="claude-3-5-sonnet")
    counts = await pool.fetchval("select tokens from messages")
    assert counts["o200k_base"] == count_message({"role": "user", "content": "你好，世界"}, "gpt-4o").tokens
    assert counts["cl100k_base"] == count_message({"role": "user", "content": "你好，世界"}, "gpt-4").tokens
    assert len(counts) == 3


async def test_what_was_never_counted_for_a_model_is_counted_once(conversations: Conversations, pool: Pool) -> None:
    await append(conversations, *talk(3))
    await append(conversations, *talk(2), thread="t1/a1")
    found = await conversations.conversation(TENANT, SESSION, model="claude-sonnet-5")
    expected = [count_message(one.to_openai(), "claude-sonnet-5").tokens for one in talk(3)]
    assert [ref.tokens for ref in found.messages] == expected
    counted = await pool.fetch("select seq from messages where (select count(*) from jsonb_object_keys(tokens)) = 3")
    assert [row["seq"] for row in counted] == [1, 2, 3]
    await pool.execute("update messages set body = '{}'")
    assert await conversations.conversation(TENANT, SESSION, model="claude-sonnet-5") == found
    assert await conversations.tokens(TENANT, SESSION, [2], model="claude-sonnet-5") == {2: expected[1]}


async def test_a_conversation_ends_where_the_task_saw_it_and_leaves_out_its_input(conversations: Conversations) -> None:
    await append(conversations, *talk(6))
    found = await conversations.conversation(TENANT, SESSION, model=MODEL, upto=5, without=[5])
    assert [ref.seq for ref in found.messages] == [1, 2, 3, 4]


@pytest.mark.parametrize("within", [None, Within(100, 3)])
@pytest.mark.parametrize(("newest", "seqs"), [(False, [1, 2, 3, 4, 5]), (True, [1])])
async def test_a_conversation_ends_where_the_task_saw_it_even_if_a_summary_covers_more(
    conversations: Conversations, pool: Pool, within: Within | None, newest: bool, seqs: list[int]
) -> None:
    await append(conversations, *talk(6), user("keep", pinned=True), *talk(3))
    assert await cover(pool, 2, 8)
    found = await conversations.conversation(TENANT, SESSION, model=MODEL, upto=5, newest_summary=newest, within=within)
    assert [ref.seq for ref in found.messages] == seqs
    assert (found.summary is not None) is newest


async def test_covered_messages_are_left_out_unless_they_stay_verbatim(
    conversations: Conversations, pool: Pool
) -> None:
    await append(conversations, *talk(3), user("keep", pinned=True), Message("system", "rule"), *talk(5))
    assert await cover(pool, 2, 8)
    assert await seen(conversations) == [1, 4, 5, 9, 10]
    found = await conversations.conversation(TENANT, SESSION, model=MODEL)
    assert [one.first_seq for one in found.groups] == [1, 4, 5, 9, 10]


async def test_a_pinned_call_keeps_its_results_when_it_is_covered(conversations: Conversations, pool: Pool) -> None:
    pinned = Message("assistant", tool_calls=(call("c1"), call("c2")), pinned=True)
    await append(conversations, *talk(2), pinned, result("c1"), result("c2"), *talk(4))
    assert await cover(pool, 1, 7)
    found = await conversations.conversation(TENANT, SESSION, model=MODEL)
    assert [one.seqs for one in found.groups] == [(1,), (3, 4, 5), (8,), (9,)]


async def test_a_thread_that_is_read_whole_still_shows_its_newest_user_message(
    conversations: Conversations, pool: Pool
) -> None:
    pinned = Message("assistant", tool_calls=(call("c1"),), pinned=True)
    await append(conversations, *talk(2), pinned, result("c1"), *talk(4))
    assert await cover(pool, 1, 8)
    found = await conversations.conversation(TENANT, SESSION, model=MODEL)
    assert [one.seqs for one in found.groups] == [(1,), (3, 4), (7,)]


async def test_only_the_latest_summary_of_the_thread_counts(conversations: Conversations, pool: Pool) -> None:
    await append(conversations, *talk(10))
    await append(conversations, *talk(3), thread="t1/a1")
    assert await cover(pool, 2, 4)
    assert await cover(pool, 2, 8, version=2)
    assert await cover(pool, 11, 12, thread="t1/a1")
    found = await conversations.conversation(TENANT, SESSION, model="claude-sonnet-5")
    assert found.summary is not None
    assert (found.summary.version, found.summary.first_seq, found.summary.last_seq) == (2, 2, 8)
    summary = await Summaries(pool).latest(TENANT, SESSION, model="claude-sonnet-5")
    assert summary is not None
    assert found.summary.tokens == count_message(summary.message.to_openai(), "claude-sonnet-5").tokens
    assert await seen(conversations, "t1/a1") == [11, 13], "the first request is included even if it is covered"
