"""Output of earlier replies, by tenant, agent and model."""

import asyncio

from purser.activities.postgres.calls.outputs import Outputs
from purser.budget.learned_holds import REMEMBERED
from purser.budget.postgres.connections.pools import Pool


async def add(pool: Pool, *tokens: int, tenant: str = "acme", agent_id: str = "writer", model: str = "m") -> None:
    async with pool.acquire() as connection, connection.transaction():
        for one in tokens:
            await Outputs(pool).add(tenant, agent_id, model, one, connection)


async def test_the_latest_replies_are_remembered_newest_first(pool: Pool) -> None:
    await add(pool, *range(REMEMBERED + 3))
    assert await Outputs(pool).seen("acme", "writer", "m") == [*range(REMEMBERED + 2, 2, -1)]


async def test_tenants_agents_and_models_learn_apart(pool: Pool) -> None:
    await add(pool, 1)
    await add(pool, 2, tenant="other")
    await add(pool, 3, agent_id="reader")
    await add(pool, 4, model="n")
    assert await Outputs(pool).seen("acme", "writer", "m") == [1]
    assert await Outputs(pool).seen("acme", "nobody", "m") == []


async def test_replies_that_end_at_the_same_time_are_all_remembered(pool: Pool) -> None:
    await asyncio.gather(*(add(pool, tokens) for tokens in range(40)))
    assert sorted(await Outputs(pool).seen("acme", "writer", "m")) == [*range(40)]


async def test_a_transaction_that_fails_teaches_nothing(pool: Pool) -> None:
    async with pool.acquire() as connection:
        transaction = connection.transaction()
        await transaction.start()
        await Outputs(pool).add("acme", "writer", "m", 7, connection)
        await transaction.rollback()
    assert await Outputs(pool).seen("acme", "writer", "m") == []
