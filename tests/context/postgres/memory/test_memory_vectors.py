"""Memory search with vectors, on a real Postgres with the extension `vector`."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from purser.budget.postgres.connections.pools import Pool, create_pool
from purser.budget.scopes import Path
from purser.compose.demo.provider.embeddings import embedding
from purser.context.conversation.messages import Message
from purser.context.postgres.conversation.conversations import Conversations
from purser.context.postgres.memory import vectors as memory_vectors
from purser.context.postgres.memory.memory import Memory
from purser.context.retrieval import Outcome, Vector, Via
from tests.context.postgres.memory.test_memory import FILLER, Room, texts
from tests.support.context.conversations import assistant, user
from tests.support.databases import fresh_database

SPELLED = "The velociped stands in the yard."
"""Found by character n-grams only: no word of it is in the questions."""


@dataclass
class Hashing:
    """An in-process embedder with the algorithm of the demo provider."""

    model: str = "hashing"
    dimensions: int = 64
    works: bool = True
    asked: list[list[str]] = field(default_factory=list)
    paid: list[tuple[str, Path]] = field(default_factory=list)

    async def embed(self, tenant: str, path: Path, texts: Sequence[str]) -> Sequence[Vector] | None:
        """Vectors of hashed n-grams."""
        self.asked.append(list(texts))
        self.paid.append((tenant, path))
        return [tuple(embedding(text, self.dimensions)) for text in texts] if self.works else None


@dataclass
class VectorRoom(Room):
    """A room whose memory has vectors."""

    embedder: Hashing
    outcomes: list[Outcome]

    @classmethod
    def on(cls, pool: Pool) -> "VectorRoom":
        """Creates the room on this database."""
        embedder, outcomes = Hashing(), list[Outcome]()
        return cls(pool, Conversations(pool), Memory(pool, embedder, outcomes.append), embedder, outcomes)

    async def vectors(self) -> int:
        """Number of stored vectors."""
        return int(await self.pool.fetchval("select count(*) from memory_vectors"))


@pytest.fixture
async def vector_room(pool: Pool) -> VectorRoom:
    """An empty database."""
    return VectorRoom.on(pool)


async def test_what_only_vectors_find_is_found(vector_room: VectorRoom) -> None:
    await vector_room.say(user(SPELLED), *FILLER)
    [found] = [one for one in await vector_room.find("velocipede?", limit=3) if one.text == SPELLED]
    assert found.via is Via.VECTOR
    assert vector_room.outcomes == [Outcome.FUSED]


async def test_what_only_words_find_survives(vector_room: VectorRoom, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_vectors, "BATCH", 1)
    await vector_room.say(*FILLER, user("A bicycle."))
    [found] = [one for one in await vector_room.find("bicycle") if one.text == "A bicycle."]
    assert found.via is Via.LEXICAL


async def test_what_both_find_goes_first(vector_room: VectorRoom) -> None:
    await vector_room.say(user("A red bicycle."), *FILLER)
    [found] = await vector_room.find("red bicycle", limit=1)
    assert (found.text, found.via) == ("A red bicycle.", Via.BOTH)


async def test_messages_get_their_vectors_in_batches_each_once(
    vector_room: VectorRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_vectors, "BATCH", 8)
    await vector_room.say(*FILLER)
    for _ in range(4):
        await vector_room.find("weather")
    assert [len(asked) for asked in vector_room.embedder.asked] == [9, 9, 5, 1]
    assert await vector_room.vectors() == 20
    await vector_room.say(user("A bicycle."))
    await vector_room.find("weather")
    assert vector_room.embedder.asked[-1] == ["weather", "A bicycle."]


async def test_searches_at_once_store_one_vector_a_message(vector_room: VectorRoom) -> None:
    await vector_room.say(*FILLER)
    await asyncio.gather(*(vector_room.find("weather") for _ in range(5)))
    assert await vector_room.vectors() == 20


async def test_a_long_message_is_embedded_by_its_beginning(vector_room: VectorRoom) -> None:
    await vector_room.say(user("bicycle " * 10_000))
    await vector_room.find("bicycle")
    assert [len(text) for text in vector_room.embedder.asked[0]] == [7, memory_vectors.MOST_CHARACTERS]


async def test_without_vectors_from_the_embedder_search_uses_words_and_reports_it(vector_room: VectorRoom) -> None:
    await vector_room.say(user("A bicycle."), *FILLER)
    vector_room.embedder.works = False
    assert texts(await vector_room.find("bicycle", limit=1)) == ["A bicycle."]
    assert (vector_room.outcomes, await vector_room.vectors()) == ([Outcome.NO_VECTORS], 0)
    vector_room.embedder.works = True
    await vector_room.find("bicycle")
    assert await vector_room.vectors() == 21


@pytest.mark.parametrize("change", [{"model": "other"}, {"model": "other", "dimensions": 100}])
async def test_another_model_embeds_everything_again(vector_room: VectorRoom, change: dict[str, object]) -> None:
    await vector_room.say(user(SPELLED), assistant("Indeed."))
    await vector_room.find("velocipede")
    for name, value in change.items():
        setattr(vector_room.embedder, name, value)
    assert SPELLED in texts(await vector_room.find("velocipede"))
    assert vector_room.embedder.asked[-1] == ["velocipede", SPELLED, "Indeed."]
    models = await vector_room.pool.fetch("select distinct model from memory_vectors")
    assert [row["model"] for row in models] == ["other"]


async def test_vectors_of_two_models_are_not_compared(vector_room: VectorRoom) -> None:
    await vector_room.say(*[user(SPELLED)] * (memory_vectors.BATCH + 1))
    for _ in range(2):
        await vector_room.find("velocipede")
    vector_room.embedder.model = "other"
    assert len(await vector_room.find("velocipede", limit=100)) == memory_vectors.BATCH


async def test_vectors_of_another_length_are_not_compared(vector_room: VectorRoom) -> None:
    await vector_room.say(user(SPELLED))
    await vector_room.find("velocipede")
    vector_room.embedder.dimensions = 100
    assert await vector_room.find("velocipede") == []


async def test_without_the_extension_search_uses_words_and_reports_it(postgres_server: str, template: str) -> None:
    async with fresh_database(postgres_server, template) as dsn, await create_pool(dsn) as pool:
        room = VectorRoom.on(pool)
        await pool.execute("drop table memory_vectors")
        await room.say(user("A bicycle."))
        assert texts(await room.find("bicycle")) == ["A bicycle."]
        assert (room.outcomes, room.embedder.asked) == ([Outcome.NO_EXTENSION], [])


async def test_the_session_pays_unless_a_path_is_given(vector_room: VectorRoom) -> None:
    path = Path.parse(["session:s1", "task:t1", "agent:t1/a1"])
    await vector_room.say(*FILLER)
    await vector_room.find("weather")
    await vector_room.find("weather", path=path)
    session = Path.parse(["tenant:acme", "session:s1"])
    assert vector_room.embedder.paid == [("acme", session), ("acme", path)]


async def test_a_search_over_nothing_costs_nothing(vector_room: VectorRoom) -> None:
    assert await vector_room.find("weather") == []
    assert vector_room.embedder.asked == []


async def test_excluded_messages_are_not_found_by_vectors(vector_room: VectorRoom) -> None:
    [seq] = await vector_room.say(user(SPELLED))
    assert await vector_room.find("velocipede", exclude_seqs=[seq]) == []


async def test_a_published_reply_is_found_once_by_vectors_in_every_session(vector_room: VectorRoom) -> None:
    for session in ("s1", "s2"):
        await vector_room.say(assistant(SPELLED), to=session, thread="t1/a", user_id="u1")
        published = [Message("assistant", SPELLED, name="a")]
        await vector_room.conversations.append("acme", session, published, origin="task:t1:replies")
    found = await vector_room.find("velocipede", user_id="u1")
    assert [(one.session_id, one.thread) for one in found] == [("s1", ""), ("s2", "")]


async def test_numbers_of_another_session_exclude_no_vectors(vector_room: VectorRoom) -> None:
    for session in ("s1", "s2"):
        await vector_room.say(user(SPELLED), to=session, user_id="u1")
    found = await vector_room.find("velocipede", user_id="u1", exclude_seqs=[1])
    assert [one.session_id for one in found] == ["s2"]


async def test_vectors_of_tenants_are_separate(vector_room: VectorRoom) -> None:
    await vector_room.say(Message("system", "Be brief."), tenant="bolt")
    for number in range(3):
        said = {tenant: f"{tenant}'s {SPELLED} {number}" for tenant in ("acme", "bolt")}
        for tenant, text in said.items():
            await vector_room.say(user(text), tenant=tenant)
            await index_words_only(vector_room, tenant=tenant)
        for tenant, text in said.items():
            found = texts(await vector_room.find("velocipede", tenant=tenant, limit=50))
            assert found == [f"{tenant}'s {SPELLED} {one}" for one in range(number + 1)]
            assert vector_room.embedder.asked[-1][1:] == [text]


async def test_vectors_of_sessions_and_users_are_separate(vector_room: VectorRoom) -> None:
    said = {f"s{number}": f"Number {number}: {SPELLED}" for number in range(1, 5)}
    for session, text in said.items():
        await vector_room.say(user(text), to=session, user_id=f"u{int(session[1]) % 2}")
        await index_words_only(vector_room, at=session)
    for session, text in said.items():
        assert texts(await vector_room.find("velocipede", at=session)) == [text]
        assert vector_room.embedder.asked[-1][1:] == [text]
    found = await vector_room.find("velocipede", at="s1", user_id="u1")
    assert [one.session_id for one in found] == ["s1", "s3"]


async def index_words_only(room: VectorRoom, **where: str) -> None:
    """Leaves messages that have no vectors yet."""
    room.embedder.works = False
    await room.find("velocipede", **where)
    room.embedder.works = True
