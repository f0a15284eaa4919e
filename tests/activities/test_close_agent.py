"""The end of an agent: nothing remains held for it, and a delayed ask cannot hold."""

import pytest

from purser.activities.close_agent import CloseAgent
from purser.activities.postgres.agents import Agents
from purser.budget.errors import HoldClosed
from purser.budget.postgres.approvals.approvals import Approvals
from purser.budget.postgres.connections.pools import Pool
from purser.workflows.contract import AgentClosing, AgentOutcome, AgentRef, AgentStatus
from tests.support.ledger import TENANT, Books

KEYS = pytest.mark.parametrize("key", ["call", "compression"])


async def end(books: Books) -> None:
    """Ends an agent whose last turn may have held under both keys."""
    agent, outcome = AgentRef(TENANT, "t1", "a"), AgentOutcome("a", AgentStatus.CANCELLED)
    activity = CloseAgent(Agents(books.pool), books.ledger, Approvals(books.pool, books.settings))
    await activity.close_agent(AgentClosing(agent, outcome, key="call", compression_key="compression"))


@KEYS
async def test_an_agent_that_ends_gives_its_hold_back(pool: Pool, key: str) -> None:
    books = Books.on(pool)
    await books.hold(key, 100)
    await end(books)
    assert await books.balance() == {}


@KEYS
async def test_an_ask_that_comes_after_its_agent_has_ended_cannot_hold(pool: Pool, key: str) -> None:
    books = Books.on(pool)
    await end(books)
    with pytest.raises(HoldClosed):
        await books.hold(key, 100)
