"""Memory search on a real Postgres."""

import asyncio
import threading
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from purser.budget.postgres.connections.pools import Pool, create_pool
from purser.context.conversation.messages import Message
from purser.context.errors import SessionDeleted
from purser.context.postgres.conversation.conversations import Conversations
from purser.context.postgres.conversation.counts import in_background
from purser.context.postgres.memory import index as memory_index
from purser.context.postgres.memory import memory
from purser.context.postgres.memory.index import MemoryIndex
from purser.context.postgres.memory.memory import Memory
from purser.context.postgres.sessions.retention import Retention
from purser.context.retrieval import Found, Outcome, Via
from purser.context.retrieval.ranking import REACH
from tests.context.postgres.test_retention import OtherTextStore
from tests.support.actors import ANA
from tests.support.context.conversations import assistant, call, calling, result, user

FILLER = [user("Fine weather."), assistant("Indeed it is.")] * 10


@dataclass
class Room:
    """Sessions of several tenants, and memory over them."""

    pool: Pool
    conversations: Conversations
    memory: Memory

    @classmethod
    def on(cls, pool: Pool) -> "Room":
        """Creates the room on this database."""
        return cls(pool, Conversations(pool), Memory(pool))

    async def say(
        self, *messages: Message, to: str = "s1", tenant: str = "acme", thread: str = "", user_id: str | None = None
    ) -> list[int]:
        """Appends to a session."""
        return await self.conversations.append(
            tenant, to, messages, origin=str(uuid.uuid4()), thread=thread, user_id=user_id
        )

    async def find(self, query: str, *, at: str = "s1", tenant: str = "acme", **how: Any) -> list[Found]:
        """Searches a session."""
        return (await self.memory.search(tenant, at, query, **{"limit": 5, **how})).found

    async def best(self, query: str, **where: Any) -> str:
        """The text that fits best."""
        return max(await self.find(query, **where), key=lambda one: one.score).text


@pytest.fixture
async def room(pool: Pool) -> Room:
    """An empty database."""
    return Room.on(pool)


def texts(found: Sequence[Found]) -> list[str]:
    return [one.text for one in found]


# --- what is found


async def test_a_message_is_found_by_its_words_with_all_that_is_known_of_it(room: Room) -> None:
    [seq] = await room.say(Message("user", "My bicycle is red.", name="Ann"))
    [found] = await room.find("What colour is the bicycle?")
    assert (found.session_id, found.seq, found.thread) == ("s1", seq, "")
    assert (found.role, found.name, found.text) == ("user", "Ann", "My bicycle is red.")
    assert found.via is Via.LEXICAL
    stored = await room.pool.fetchval("select created_at from messages")
    assert found.created_at == stored


async def test_long_threads_are_ranked_in_a_thread_as_short_ones_in_the_loop(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    await room.say(user("A bicycle."), *FILLER, user("A red bicycle."), user("Something red."))
    rank, ran_in = memory._ranked, list[threading.Thread]()

    def ranked(*given: Any) -> Any:
        ran_in.append(threading.current_thread())
        return rank(*given)

    monkeypatch.setattr(memory, "_ranked", ranked)
    in_the_loop = await room.find("red bicycle")
    monkeypatch.setattr(memory, "INLINE_TURNS", 20)
    assert await room.find("red bicycle") == in_the_loop != []
    assert [one is threading.main_thread() for one in ran_in] == [True, False]


async def test_results_come_in_time_order_whatever_fits_best(room: Room) -> None:
    await room.say(user("A bicycle."), *FILLER, user("A red bicycle."), *FILLER, user("Something red."))
    found = await room.find("red bicycle", limit=3)
    assert [one.seq for one in found] == sorted(one.seq for one in found)
    assert await room.best("red bicycle") == "A red bicycle."


async def test_an_answer_is_found_by_its_question(room: Room) -> None:
    await room.say(*FILLER, user("Where shall we spend the holidays?"), assistant("In Porto."), *FILLER)
    assert "In Porto." in texts(await room.find("holidays", limit=2))


async def test_a_word_that_no_turn_has_is_found_in_longer_words_of_the_session(room: Room) -> None:
    await room.say(*FILLER, user("Noch ein Apfelkuchen."), tenant="bolt")
    await room.say(*FILLER, user("Ein Kirschkuchen."), to="s2")
    assert await room.find("Apfelkuchen", tenant="bolt")
    assert await room.find("Kirschkuchen", at="s2")
    seqs = await room.say(user("Zum Apfelkuchen nimmt Anna Zimt."), *FILLER)
    found = await room.find("Wer mag den Kuchen?", limit=50)
    assert [one.seq for one in found] == seqs[: REACH + 1]
    assert await room.best("Wer mag den Kuchen?") == "Zum Apfelkuchen nimmt Anna Zimt."


async def test_a_word_that_a_turn_has_is_not_looked_for_in_longer_words(room: Room) -> None:
    await room.say(user("Ein Kuchen."), *FILLER, user("Ein Apfelkuchen."))
    assert "Ein Apfelkuchen." not in texts(await room.find("Kuchen", limit=50))


async def test_in_many_turns_words_are_not_looked_for_in_longer_words(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    await room.say(user("Ein Apfelkuchen."), *FILLER)
    monkeypatch.setattr(memory, "COMPOUND_TURNS", 1 + len(FILLER))
    assert await room.find("Kuchen") != []
    monkeypatch.setattr(memory, "COMPOUND_TURNS", len(FILLER))
    assert await room.find("Kuchen") == []


async def test_a_time_relative_to_now_is_one_of_the_messages(room: Room) -> None:
    now = datetime.now(UTC)
    days = [Message("user", "Fine weather.", created_at=now - timedelta(days)) for days in range(20)]
    await room.say(*days)
    assert [one.created_at for one in await room.find("Und gestern?", limit=1)] == [now - timedelta(1)]
    assert [one.created_at for one in await room.find("How about 9 days ago?", limit=1)] == [now - timedelta(9)]


async def test_an_empty_store_returns_nothing(room: Room) -> None:
    assert await room.find("bicycle") == []


@pytest.mark.parametrize("query", ["", "  \n", "what is it", "zebra", "\0"])
async def test_a_question_that_nothing_answers_returns_nothing(room: Room, query: str) -> None:
    await room.say(user("My bicycle is red."))
    assert await room.find(query) == []


async def test_fewer_than_wanted_returns_what_there_is(room: Room) -> None:
    await room.say(user("A bicycle."), user("Another bicycle."))
    assert len(await room.find("bicycle", limit=50)) == 2


async def test_never_more_than_wanted(room: Room) -> None:
    await room.say(*[user("A bicycle.")] * 20)
    assert [len(await room.find("bicycle", limit=limit)) for limit in (0, 1, 7)] == [0, 1, 7]


async def test_what_is_excluded_is_not_found(room: Room) -> None:
    seqs = await room.say(user("A bicycle."), user("A blue bicycle."), user("A red bicycle."))
    assert [one.seq for one in await room.find("bicycle", exclude_seqs=seqs[1:])] == seqs[:1]


async def test_only_text_of_users_and_assistants_is_found(room: Room) -> None:
    both = Message("assistant", "I look for a bicycle.", tool_calls=(call("c2"),))
    await room.say(
        Message("system", "Sell a bicycle."),
        Message("developer", "A bicycle."),
        user(" "),
        calling("c1"),
        result("c1", "bicycle"),
        both,
        result("c2", "bicycle"),
        Message("user", ({"type": "text", "text": "This bicycle?"}, {"type": "image_url", "image_url": {"url": "x"}})),
    )
    assert texts(await room.find("bicycle look_up", limit=50)) == ["I look for a bicycle.", "This bicycle?"]


async def test_all_threads_of_a_session_are_searched_and_are_no_neighbours(room: Room) -> None:
    await room.say(user("A bicycle."))
    await room.say(assistant("Nothing."), thread="t1/a1")
    await room.say(assistant("A bicycle, too."), thread="t1/a2")
    assert [(one.thread, one.text) for one in await room.find("bicycle")] == [
        ("", "A bicycle."),
        ("t1/a2", "A bicycle, too."),
    ]


async def test_what_an_agent_says_in_its_own_thread_has_its_name(room: Room) -> None:
    await room.say(assistant("A bicycle."), thread="t1/code.reviewer")
    [found] = await room.find("bicycle")
    assert found.name == "code_reviewer"


async def test_a_reply_that_its_task_published_is_found_once_by_the_name_of_its_agent(room: Room) -> None:
    """Threads and texts are the same in all places; only the tenant, the session or the task differs."""
    places = [("bolt", "s1"), ("acme", "s2"), ("acme", "s1")]

    async def red(tenant: str, at: str, **how: Any) -> list[tuple[str, str | None]]:
        found = await room.find("red bicycle", tenant=tenant, at=at, **how)
        return [(one.thread, one.name) for one in found if "red" in one.text]

    for tenant, session in places:
        for thread in ("t1/optimist", "t2/pessimist"):
            said = assistant("A blue bicycle."), assistant("A red bicycle.")
            await room.say(*said, tenant=tenant, to=session, thread=thread)
    for tenant, session in places:
        assert await red(tenant, session) == [("t1/optimist", "optimist"), ("t2/pessimist", "pessimist")]
        published = Message("assistant", "A red bicycle.", name="optimist")
        origin = "task:t1:replies"
        [seq] = await room.conversations.append(tenant, session, [published], origin=origin)
        assert await red(tenant, session) == [("t2/pessimist", "pessimist"), ("", "optimist")]
        assert await red(tenant, session, exclude_seqs=[seq]) == [("t2/pessimist", "pessimist")]


async def test_a_reply_stays_that_equals_no_published_one_as_messages_with_its_number_elsewhere_do(room: Room) -> None:
    published = [Message("assistant", "A red bicycle.", name="b")]
    for tenant, session in (("acme", "s2"), ("bolt", "s1")):
        await room.say(*published, tenant=tenant, to=session)
    await room.say(assistant("A blue bicycle."), thread="t1/a")
    await room.conversations.append("acme", "s1", published, origin="task:t1:replies")
    assert texts(await room.find("bicycle")) == ["A blue bicycle.", "A red bicycle."]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("他养了什么动物？", "他养了三只动物，都是猫。"),
        ("猫", "他养了三只动物，都是猫。"),
        ("京都の桜", "京都で桜を見ました。"),
        ("자전거", "새 자전거를 샀어요."),
        ("любимая книга", "Я люблю эту книгу."),
        ("Quel vélo?", "J'ai acheté un velo."),
        ("สวัสดี", "สวัสดีครับ"),
        ("iPhone 手机", "我买了iPhone手机"),
    ],
)
async def test_a_conversation_in_many_languages(room: Room, query: str, text: str) -> None:
    said = (
        "他养了三只动物，都是猫。",
        "京都で桜を見ました。",
        "새 자전거를 샀어요.",
        "Я люблю эту книгу.",
        "J'ai acheté un velo.",
        "สวัสดีครับ",
        "我买了iPhone手机",
    )
    await room.say(*(message for one in said for message in (*FILLER, user(one))))
    assert await room.best(query) == text


async def test_text_that_postgres_cannot_store_as_text_does_no_harm(room: Room) -> None:
    await room.say(Message.parse({"role": "user", "content": "bicycle \ud800"}), user("bicycle"))
    assert len(await room.find("bicycle \ud800")) == 2


# --- the index


async def test_the_index_catches_up_with_every_search(room: Room) -> None:
    for number in range(5):
        await room.say(user(f"Bicycle {number}."))
        assert len(await room.find("bicycle", limit=50)) == number + 1


async def test_a_search_that_could_not_index_everything_in_time_reports_what_is_missing(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_index, "BATCH", 3)
    monkeypatch.setattr(memory, "PATIENCE_S", 0)
    await room.say(*[user("A bicycle.")] * 7)
    results = [await room.memory.search("acme", "s1", "bicycle", limit=50) for _ in range(4)]
    assert [(len(one.found), one.pending) for one in results] == [(3, 4), (6, 1), (7, 0), (7, 0)]


@pytest.mark.parametrize("most", ["MOST_BYTES", "MOST_CHARACTERS"])
async def test_a_batch_of_large_messages_ends_earlier(room: Room, monkeypatch: pytest.MonkeyPatch, most: str) -> None:
    monkeypatch.setattr(memory_index, most, 1)
    monkeypatch.setattr(memory, "PATIENCE_S", 0)
    await room.say(*[user("A bicycle.")] * 3)
    assert [(await room.memory.search("acme", "s1", "bicycle", limit=9)).pending for _ in range(3)] == [2, 1, 0]


async def test_of_a_long_message_the_beginning_is_indexed(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_index, "MOST_OF_MESSAGE", 12)
    [seq] = await room.say(user("A red house. A bicycle."))
    assert [one.seq for one in await room.find("red house")] == [seq]
    assert await room.find("bicycle") == []


async def test_the_session_itself_is_indexed_first_and_others_of_its_user_while_time_remains(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "PATIENCE_S", 0)
    for number in (1, 2, 3):
        await room.say(*[user("A bicycle.")] * number, to=f"s{number}", user_id="u1")
    results = [await room.memory.search("acme", "s2", "bicycle", limit=50, user_id="u1") for _ in range(3)]
    assert {one.session_id for one in results[0].found} == {"s2"}
    assert [len(one.found) + one.pending for one in results] == [6] * 3
    assert results[2].pending == 0


async def test_what_is_indexed_is_searched_though_indexing_fails(room: Room, dsn: str) -> None:
    await room.say(user("A red bicycle."))
    await room.find("bicycle")
    await room.say(user("A blue bicycle."))
    async with room.pool.acquire() as other, other.transaction(), await create_pool(dsn, lock_timeout_ms=100) as pool:
        await other.execute("lock table memory_postings in exclusive mode")
        results = await Memory(pool).search("acme", "s1", "bicycle", limit=5)
    assert (texts(results.found), results.pending) == (["A red bicycle."], 1)


@pytest.mark.parametrize("sessions", [1, 20])
async def test_searches_that_wait_for_the_index_leave_connections_to_others(
    room: Room, dsn: str, sessions: int
) -> None:
    for number in range(sessions):
        await room.say(user("A bicycle."), to=f"s{number}")
    async with room.pool.acquire() as other, await create_pool(dsn, size=memory_index.MOST_SESSIONS + 1) as pool:
        async with other.transaction():
            await other.execute("lock table memory_postings in exclusive mode")
            search = Memory(pool).search
            asked = [search("acme", f"s{number % sessions}", "bicycle", limit=1) for number in range(20)]
            searches = asyncio.gather(*asked)
            while not await other.fetchval("select exists (select from pg_locks where not granted)"):
                await asyncio.sleep(0.01)
            async with asyncio.timeout(5):
                for _ in range(50):
                    assert await pool.fetchval("select true")
        assert [len(one.found) for one in await searches] == [1] * 20


async def test_what_was_imported_is_found_by_the_next_search(room: Room) -> None:
    await room.say(*[user(f"Bicycle {number}.") for number in range(6_000)])
    results = await room.memory.search("acme", "s1", "5999", limit=1)
    assert (texts(results.found), results.pending) == (["Bicycle 5999."], 0)


@pytest.mark.parametrize("rows", [2, memory_index.ROWS])
async def test_indexed_in_parts_or_at_once_the_same_is_found(
    room: Room, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    said = [user(f"{word} {number}") for number, word in enumerate(["red", "bicycle", "tea", "house"] * 10)]
    await room.say(*said, to="whole")
    whole = await room.find("red bicycle", at="whole", limit=50)
    monkeypatch.setattr(memory_index, "BATCH", 4)
    monkeypatch.setattr(memory_index, "ROWS", rows)
    for message in said:
        await room.say(message, to="parts")
        await room.find("tea", at="parts")
    parts = await room.find("red bicycle", at="parts", limit=50)
    assert texts(parts) == texts(whole)
    assert [one.score for one in parts] == pytest.approx([one.score for one in whole])


async def test_searches_at_once_index_every_message_once(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_index, "BATCH", 7)
    await room.say(*[user("A bicycle.")] * 50)
    found = await asyncio.gather(*(room.find("bicycle", limit=100) for _ in range(8)))
    assert [len(one) for one in found] == [50] * 8
    seqs = await room.pool.fetchval("select seqs from memory_turns")
    assert np.frombuffer(seqs, ">i8").tolist() == list(range(1, 51))
    assert (
        await room.pool.fetchval("select sum(octet_length(postings)) from memory_postings where term = 'bicycl'") == 400
    )


async def test_an_index_that_another_process_writes_is_left_to_it(room: Room) -> None:
    places, catch_up = (("acme", "s1"), ("acme", "s2"), ("bolt", "s1")), MemoryIndex(room.pool).catch_up
    for tenant, session in places:
        await room.say(user("A red bicycle."), to=session, tenant=tenant)
        assert await catch_up(tenant, session, seconds=60)
        await room.say(user("A blue bicycle."), to=session, tenant=tenant)
    async with room.pool.acquire() as other, other.transaction():
        await other.execute(memory_index._SQL["claim"], "acme", "s1", 1)
        assert [await catch_up(*place, seconds=1) for place in places] == [False, True, True]
    assert texts(await room.find("bicycle")) == ["A red bicycle.", "A blue bicycle."]


async def test_what_another_process_indexed_meanwhile_is_not_indexed_again(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    await room.say(*[user("A bicycle.")] * 20)
    monkeypatch.setattr(memory_index, "BATCH", 3)

    async def late(work: Callable[..., object], *arguments: object) -> object:
        monkeypatch.setattr(memory_index, "in_background", in_background)
        assert await MemoryIndex(room.pool).catch_up("acme", "s1", seconds=60)
        return await in_background(work, *arguments)

    monkeypatch.setattr(memory_index, "in_background", late)
    assert await MemoryIndex(room.pool).catch_up("acme", "s1", seconds=5)
    seqs = await room.pool.fetchval("select seqs from memory_turns")
    assert np.frombuffer(seqs, ">i8").tolist() == list(range(1, 21))


async def test_appends_go_on_while_the_index_catches_up(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_index, "BATCH", 5)

    async def append() -> None:
        for number in range(20):
            await room.say(user(f"Bicycle {number}."))

    async def search() -> None:
        for _ in range(20):
            await room.find("bicycle")

    await asyncio.gather(append(), search(), search())
    assert len(await room.find("bicycle", limit=50)) == 20


async def test_where_too_much_matches_the_rare_words_decide(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    await room.say(user("A zebra."), *FILLER, *[user("A bicycle.")] * 20)
    monkeypatch.setattr(memory, "MOST_POSTINGS", 1)
    assert "A bicycle." not in texts(await room.find("zebra bicycle", limit=3))


async def test_deleting_a_session_deletes_its_index(room: Room) -> None:
    await room.say(user("A bicycle."))
    await room.find("bicycle")
    await room.pool.execute("delete from sessions")
    for table in ("memory_sessions", "memory_threads", "memory_turns", "memory_postings"):
        assert await room.pool.fetchval(f"select count(*) from {table}") == 0, table
    assert await room.find("bicycle") == []


# --- who sees what


async def test_tenants_are_separate(room: Room) -> None:
    """Sessions, users, words and places are the same; only the tenant differs."""
    colours = {"acme": ("red", "blue"), "bolt": ("blue", "red")}
    await room.say(Message("system", "Be brief."), tenant="bolt", user_id="u1")
    for _ in range(2):
        for tenant, (own, other) in colours.items():
            await room.say(user(f"The bicycle is {own}."), *FILLER, tenant=tenant, user_id="u1")
            for user_id in (None, "u1"):
                found = await room.find("bicycle red blue", tenant=tenant, user_id=user_id, limit=100)
                assert {one.text for one in found if "bicycle" in one.text} == {f"The bicycle is {own}."}
                assert await room.find(other, tenant=tenant, user_id=user_id) == []
    assert await room.find("bicycle", tenant="core") == []


async def test_users_of_two_tenants_share_nothing_but_their_name(room: Room) -> None:
    await room.say(user("A red bicycle."), to="s1", user_id="u1")
    await room.say(user("A blue bicycle."), to="s2", user_id="u1", tenant="bolt")
    assert texts(await room.find("bicycle", user_id="u1")) == ["A red bicycle."]


async def test_what_other_tenants_say_weighs_nothing(room: Room) -> None:
    await room.say(user("A bicycle."), *FILLER)
    alone = await room.find("bicycle", limit=50)
    await room.say(Message("system", "Be brief."), *[user("bicycle")] * 30, tenant="bolt")
    await room.find("bicycle", tenant="bolt")
    assert await room.find("bicycle", limit=50) == alone
    await room.say(user("A zebra."))
    assert texts(await room.find("zebra", limit=1)) == ["A zebra."]


async def test_numbers_of_another_tenant_exclude_nothing(room: Room) -> None:
    await room.say(user("A red bicycle."), user("A blue bicycle."))
    await room.say(Message("system", "Be brief."), user("A bicycle."), tenant="bolt")
    await room.find("bicycle", tenant="bolt")
    assert texts(await room.find("bicycle", exclude_seqs=[2])) == ["A red bicycle."]


async def test_a_search_in_one_session_sees_no_other(room: Room) -> None:
    await room.say(Message("system", "Be brief."), *FILLER, user("A blue bicycle."), to="s2", user_id="u1")
    await room.say(user("A red bicycle."), *FILLER, to="s1", user_id="u1")
    alone = await room.find("bicycle", limit=50)
    assert alone[0].text == "A red bicycle."
    assert await room.find("blue") == []
    await room.say(*[user("bicycle")] * 30, to="s2")
    await room.find("bicycle", at="s2")
    assert await room.find("bicycle", limit=50) == alone
    await room.say(user("A zebra."))
    assert texts(await room.find("zebra", limit=1)) == ["A zebra."]


async def test_the_places_of_a_session_begin_anew_after_those_of_another(room: Room) -> None:
    await room.say(*FILLER, user("A blue bicycle."), to="s2")
    await room.find("bicycle", at="s2")
    await room.say(user("A red bicycle."))
    assert texts(await room.find("bicycle")) == ["A red bicycle."]


async def test_a_deleted_session_is_not_indexed_as_another_one(room: Room) -> None:
    for tenant, session in (("acme", "s1"), ("acme", "s2"), ("bolt", "s1")):
        await room.say(user("A red bicycle."), to=session, tenant=tenant)
    await Retention(room.pool, OtherTextStore()).delete("acme", "s1", by=ANA)
    [done] = await asyncio.gather(MemoryIndex(room.pool).catch_up("acme", "s1", seconds=1), return_exceptions=True)
    assert isinstance(done, SessionDeleted)


async def test_sessions_of_a_user_are_searched_together_and_no_others(room: Room) -> None:
    await room.say(user("A red bicycle."), to="s1", user_id="u1")
    await room.say(user("A blue bicycle."), to="s2", user_id="u1")
    await room.say(user("A green bicycle."), to="s3", user_id="u2")
    await room.say(user("A black bicycle."), to="s4")
    assert texts(await room.find("bicycle", user_id="u1")) == ["A red bicycle.", "A blue bicycle."]
    assert texts(await room.find("bicycle", at="s4", user_id="u1")) == [
        "A red bicycle.",
        "A blue bicycle.",
        "A black bicycle.",
    ]
    assert texts(await room.find("bicycle", at="new", user_id="u2")) == ["A green bicycle."]


async def test_a_session_of_another_user_is_not_searched_even_if_it_is_named(room: Room) -> None:
    seqs = await room.say(user("A red bicycle."), to="s1", user_id="u1")
    await room.say(user("A blue bicycle."), to="s2", user_id="u2")
    await room.find("bicycle", at="s1")
    for excluded in ([], seqs):
        found = await room.find("bicycle", at="s1", user_id="u2", exclude_seqs=excluded)
        assert texts(found) == ["A blue bicycle."]


async def test_numbers_of_another_session_exclude_nothing(room: Room) -> None:
    for session in ("s1", "s2"):
        await room.say(user("A bicycle."), to=session, user_id="u1")
    found = await room.find("bicycle", user_id="u1", exclude_seqs=[1])
    assert [(one.session_id, one.seq) for one in found] == [("s2", 1)]


async def test_each_search_of_a_stored_session_reports_its_outcome(room: Room) -> None:
    outcomes: list[Outcome] = []
    memory = Memory(room.pool, on_outcome=outcomes.append)
    await room.say(user("A bicycle."))
    await memory.search("bolt", "s1", "bicycle", limit=1)
    assert outcomes == []
    await memory.search("acme", "s1", "bicycle", limit=1)
    assert outcomes == [Outcome.WORDS]
