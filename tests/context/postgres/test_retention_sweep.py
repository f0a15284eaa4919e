"""A sweep of many old sessions reads them in parts."""

import asyncio

import asyncpg
import pytest

from purser.budget.postgres.connections.pools import Connection, Pool
from purser.context.postgres.conversation.conversations import Conversations
from purser.context.postgres.sessions import retention as retention_module
from purser.context.postgres.sessions.retention import Retention
from tests.context.postgres.test_retention import TENANT, OtherTextStore, grow_old
from tests.support.actors import ANA
from tests.support.context.conversations import user


async def test_each_part_is_read_after_the_last_and_busy_sessions_stop_nothing(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention_module, "BATCH", 2)

    class AgingStore(OtherTextStore):
        """Ages the session `c` once the first part has been read."""

        async def forget_session(self, tenant: str, session_id: str, connection: Connection) -> None:
            if session_id == "a":
                await grow_old(pool, 31, "c")
            await super().forget_session(tenant, session_id, connection)

    for session in ("a", "b", "c", "d", "e"):
        await Conversations(pool).append(TENANT, session, [user("Hello.")], origin="o1")
        if session != "c":
            await grow_old(pool, 31, session)
    text_store = AgingStore()
    text_store.busy = {"a", "b"}
    retention = Retention(pool, text_store)
    await retention.set_policy(TENANT, 30, by=ANA)
    async with asyncio.timeout(30):
        assert await retention.sweep() == 3
    assert text_store.forgotten == ["c", "d", "e"]


async def test_sessions_that_cannot_be_deleted_stop_no_others_and_the_first_failure_is_raised(pool: Pool) -> None:
    class FailingStore(OtherTextStore):
        """Fails for two sessions, and is aborted once in a third."""

        async def forget_session(self, tenant: str, session_id: str, connection: Connection) -> None:
            if session_id in ("a", "c"):
                raise ValueError(session_id)
            await super().forget_session(tenant, session_id, connection)
            if self.forgotten == ["b"]:
                raise asyncpg.DeadlockDetectedError("deadlock detected")

    for session in ("a", "b", "c", "d"):
        await Conversations(pool).append(TENANT, session, [user("Hello.")], origin="o1")
        await grow_old(pool, 31, session)
    text_store = FailingStore()
    retention = Retention(pool, text_store)
    await retention.set_policy(TENANT, 30, by=ANA)
    with pytest.raises(ValueError, match="a"):
        await retention.sweep()
    assert text_store.forgotten == ["b", "b", "d"]
    assert [row[0] for row in await pool.fetch("select session_id from sessions order by 1")] == ["a", "c"]
