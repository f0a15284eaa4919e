"""Texts that the windows of a session share."""

import pytest

from purser.budget.postgres.connections.pools import Pool
from purser.context.conversation.messages import Message
from purser.context.postgres.conversation.conversations import Conversations
from purser.context.postgres.sessions import texts
from purser.context.postgres.sessions.texts import SessionTexts
from tests.support.context.conversations import calling, user

SAID = [user("A red bicycle."), calling("c1"), Message("user", ({"type": "text", "text": "And this?"},))]


class Counting(Conversations):
    """A store that records which messages are read."""

    read_seqs: list[list[int]]

    async def texts(self, tenant: str, session_id: str, seqs: object) -> dict[int, Message]:
        """Overrides the store's: records the numbers."""
        numbers = list(seqs)  # type: ignore[call-overload]
        self.read_seqs.append(numbers)
        return await super().texts(tenant, session_id, numbers)


@pytest.fixture
async def store(pool: Pool) -> Counting:
    """Session s1 of two tenants."""
    found = Counting(pool)
    found.read_seqs = []
    await found.append("acme", "s1", SAID, origin="a")
    await found.append("bolt", "s1", [user("A blue bicycle.")], origin="a")
    return found


async def test_only_new_messages_are_read(store: Counting) -> None:
    read = SessionTexts(store).read
    assert await read("acme", "s1", [1, 2]) == {1: SAID[0], 2: SAID[1]}
    assert await read("acme", "s1", [1, 2, 3]) == dict(enumerate(SAID, 1))
    assert await read("acme", "s1", [2, 3]) == {2: SAID[1], 3: SAID[2]}
    assert store.read_seqs == [[1, 2], [3]]


async def test_tenants_with_a_session_of_the_same_name_share_nothing(store: Counting) -> None:
    read = SessionTexts(store).read
    assert await read("acme", "s1", [1]) == {1: SAID[0]}
    assert await read("bolt", "s1", [1]) == {1: user("A blue bicycle.")}


async def test_the_sessions_read_least_recently_make_room(store: Counting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "MOST_CHARACTERS", len("A red bicycle." + "A blue bicycle.") - 1)
    read = SessionTexts(store).read
    for tenant in ("acme", "bolt", "bolt", "acme"):
        await read(tenant, "s1", [1])
    assert len(store.read_seqs) == 3


async def test_a_session_that_is_not_read_for_long_is_forgotten(
    store: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(texts, "MOST_IDLE_S", 0)
    read = SessionTexts(store).read
    for _ in range(2):
        await read("acme", "s1", [1])
    assert len(store.read_seqs) == 2
