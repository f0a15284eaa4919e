"""A sweep of many old sessions reads them in parts."""

import asyncio

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
