"""Sessions that are deleted while they are read: the reader learns that, whatever it was about to store."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import pytest

from purser.budget.postgres.connections.pools import Pool
from purser.budget.scopes import Path
from purser.context.errors import MessageNotFound, SessionDeleted
from purser.context.postgres.conversation.conversations import Conversations
from purser.context.postgres.conversation.counts import in_background
from purser.context.postgres.conversation.facts import Facts
from purser.context.postgres.conversation.placeholders import Placeholders
from purser.context.postgres.memory import index as memory_index
from purser.context.postgres.memory.memory import Memory
from purser.context.postgres.sessions.retention import Retention
from purser.context.redaction import Redactor
from purser.context.retrieval import Vector
from tests.context.postgres.memory.test_memory_vectors import Hashing
from tests.context.postgres.test_retention import OtherTextStore
from tests.support.actors import ANA
from tests.support.context.conversations import user

TENANT, SESSION, MODEL = "acme", "s1", "gpt-4o"
SAID = [user("My bicycle costs $300."), user("Write to ana@example.com.")]
T = TypeVar("T")


@pytest.fixture
async def pool(pool: Pool) -> Pool:
    """A database with two sessions of one user."""
    for session in (SESSION, "s2"):
        await Conversations(pool).append(TENANT, session, SAID, origin="o1", user_id="u1")
    return pool


async def delete(pool: Pool) -> None:
    """Deletes the first session."""
    await Retention(pool, OtherTextStore()).delete(TENANT, SESSION, by=ANA)


class Deleting(Placeholders):
    """A store that loses the session when texts are redacted, before or after their placeholders are stored."""

    def __init__(self, pool: Pool, *, before: bool) -> None:
        super().__init__(pool)
        self._before = before

    async def redacted(self, tenant: str, session_id: str, work: Callable[[Redactor], T]) -> tuple[T, Counter[str]]:
        """Overrides the store's: deletes after it."""
        done = await super().redacted(tenant, session_id, work)
        await delete(self._pool)
        return done

    async def store(self, tenant: str, session_id: str, redactor: Redactor) -> bool:
        """Overrides the store's: deletes before it."""
        if self._before:
            await delete(self._pool)
        return await super().store(tenant, session_id, redactor)


@pytest.mark.parametrize("before", [True, False])
async def test_facts(pool: Pool, before: bool) -> None:
    with pytest.raises(SessionDeleted, match="'s1' was deleted"):
        await Facts(pool, Deleting(pool, before=before)).all(TENANT, SESSION)


async def test_facts_that_a_deletion_waits_for(pool: Pool) -> None:
    facts = Facts(pool, Placeholders(pool))
    await facts.all(TENANT, SESSION)
    for number in range(10):
        await Conversations(pool).append(TENANT, SESSION, [user(f"It costs ${number}.")], origin=f"n{number}")
    found = await asyncio.gather(facts.all(TENANT, SESSION), delete(pool), return_exceptions=True)
    assert found[1] is None
    assert isinstance(found[0], list | SessionDeleted)


@pytest.mark.parametrize("read", ["times", "texts", "tokens"])
async def test_messages(pool: Pool, read: str) -> None:
    conversations = Conversations(pool)
    model = {"model": MODEL} if read == "tokens" else {}
    assert list(await getattr(conversations, read)(TENANT, SESSION, [1, 2], **model)) == [1, 2]
    with pytest.raises(MessageNotFound, match="'s1' has no message 3"):
        await getattr(conversations, read)(TENANT, SESSION, [1, 3, 4], **model)
    await delete(pool)
    with pytest.raises(SessionDeleted, match="'s1' was deleted by ana"):
        await getattr(conversations, read)(TENANT, SESSION, [1], **model)


async def test_counts_of_another_model(pool: Pool) -> None:
    conversations = Conversations(pool)

    class Reading(Conversations):
        """Loses the session before it reads the texts to count."""

        async def texts(self, *place: Any) -> Any:
            """Overrides the store's."""
            await delete(pool)
            return await conversations.texts(*place)

    with pytest.raises(SessionDeleted):
        await Reading(pool).conversation(TENANT, SESSION, model="claude-sonnet-5")


@pytest.mark.parametrize("begun", [True, False])
async def test_memory(pool: Pool, monkeypatch: pytest.MonkeyPatch, begun: bool) -> None:
    if begun:
        await Memory(pool).search(TENANT, SESSION, "bicycle", limit=9)
        await Conversations(pool).append(TENANT, SESSION, SAID, origin="o2")

    async def deleting(*given: Any) -> Any:
        await delete(pool)
        return await in_background(*given)

    monkeypatch.setattr(memory_index, "in_background", deleting)
    with pytest.raises(SessionDeleted, match="'s1' was deleted by ana"):
        await Memory(pool).search(TENANT, SESSION, "bicycle", limit=9)


async def test_memory_of_the_other_sessions_of_the_user(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    async def deleting(*given: Any) -> Any:
        await delete(pool)
        return await in_background(*given)

    monkeypatch.setattr(memory_index, "in_background", deleting)
    results = await Memory(pool).search(TENANT, "s2", "bicycle", limit=9, user_id="u1")
    assert {one.session_id for one in results.found} == {"s2"}
    assert results.pending == 0


async def test_vectors(pool: Pool) -> None:
    class Losing(Hashing):
        """An embedder during whose call the session is deleted."""

        async def embed(self, tenant: str, path: Path, texts: Sequence[str]) -> Sequence[Vector] | None:
            """Overrides the embedder's."""
            await delete(pool)
            return await super().embed(tenant, path, texts)

    results = await Memory(pool, Losing()).search(TENANT, "s2", "bicycle", limit=9, user_id="u1")
    assert {one.session_id for one in results.found} == {"s2"}
