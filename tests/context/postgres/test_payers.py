"""Payers of calls: tenant and user are added to a path."""

from typing import Any

import asyncpg
import pytest

from purser.budget.postgres.connections.pools import Pool
from purser.budget.scopes import Path
from purser.context.conversation.messages import Message
from purser.context.postgres.conversation.conversations import Conversations
from purser.context.postgres.sessions.payers import Payers

TENANT = "acme"


class Clock:
    """A clock that tests advance."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("stated", "completed"),
    [
        (["session:s1", "task:t1"], ["tenant:acme", "user:ana", "session:s1", "task:t1"]),
        (["user:bob", "session:s1"], ["tenant:acme", "user:bob", "session:s1"]),
        (["tenant:acme", "session:s2"], ["tenant:acme", "session:s2"]),
        (["agent:t1/a", "agent:t1/b"], ["tenant:acme", "agent:t1/a", "agent:t1/b"]),
    ],
)
async def test_a_path_is_placed_below_its_tenant_and_the_user_of_its_session(
    pool: Pool, stated: list[str], completed: list[str]
) -> None:
    await Conversations(pool).append(TENANT, "s1", [Message("user", "Hello.")], origin="o", user_id="ana")
    assert (await Payers(pool).complete(TENANT, Path.parse(stated))).texts() == completed


async def test_a_session_that_gets_a_user_is_charged_to_it_a_second_later_at_most(pool: Pool) -> None:
    clock = Clock()
    payers = Payers(pool, clock)
    assert (await payers.of_session(TENANT, "s1")).texts() == ["tenant:acme", "session:s1"]
    await Conversations(pool).append(TENANT, "s1", [Message("user", "Hello.")], origin="o", user_id="ana")
    clock.now += 1
    assert (await payers.of_session(TENANT, "s1")).texts() == ["tenant:acme", "user:ana", "session:s1"]


async def test_the_user_that_a_session_gets_in_this_process_pays_for_the_next_call(pool: Pool) -> None:
    payers = Payers(pool, Clock())
    assert (await payers.of_session(TENANT, "s1")).texts() == ["tenant:acme", "session:s1"]
    await Conversations(pool).append(TENANT, "s1", [Message("user", "Hello.")], origin="o", user_id="ana")
    payers.forget(TENANT, "s1")
    assert (await payers.of_session(TENANT, "s1")).texts() == ["tenant:acme", "user:ana", "session:s1"]


async def test_a_session_that_gets_its_user_while_it_is_read_is_not_cached_without(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    payers, read = Payers(pool, Clock()), asyncpg.Connection.fetchval

    async def late(own: asyncpg.Connection, *arguments: Any) -> Any:
        found = await read(own, *arguments)
        await Conversations(pool).append(TENANT, "s1", [Message("user", "Hello.")], origin="o", user_id="ana")
        payers.forget(TENANT, "s1")
        return found

    with monkeypatch.context() as reading:
        reading.setattr(asyncpg.Connection, "fetchval", late)
        await payers.of_session(TENANT, "s1")
    assert (await payers.of_session(TENANT, "s1")).texts() == ["tenant:acme", "user:ana", "session:s1"]


async def test_a_session_of_another_tenant_says_nothing(pool: Pool) -> None:
    await Conversations(pool).append("other", "s1", [Message("user", "Hello.")], origin="o", user_id="ana")
    assert (await Payers(pool).of_session(TENANT, "s1")).texts() == ["tenant:acme", "session:s1"]
