"""The end of an agent: nothing remains held for it, and a delayed ask cannot hold."""

import pytest

from purser.activities.close_agent import CloseAgent
from purser.activities.postgres.agents import Agents
from purser.budget.approvals import ApprovalState
from purser.budget.errors import HoldClosed
from purser.budget.gate import Amount
from purser.budget.postgres.approvals.approvals import Approvals
from purser.budget.postgres.connections.pools import Pool
from purser.budget.scopes import Path
from purser.workflows.contract import AgentClosing, AgentOutcome, AgentRef, AgentStatus
from tests.support.ledger import TENANT, Books

KEYS = pytest.mark.parametrize("key", ["call", "compression", "last"])


async def end(books: Books, *tool_keys: str) -> None:
    """Ends an agent whose last turn may have held under each of its keys, and for its tools."""
    agent, outcome = AgentRef(TENANT, "t1", "a"), AgentOutcome("a", AgentStatus.CANCELLED)
    activity = CloseAgent(Agents(books.pool), books.ledger, Approvals(books.pool, books.settings))
    await activity.close_agent(
        AgentClosing(agent, outcome, key="call", compression_key="compression", last_key="last", tool_keys=tool_keys)
    )


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


async def test_an_agent_that_ends_leaves_neither_a_hold_nor_a_request_of_its_paid_tools(pool: Pool) -> None:
    books = Books.on(pool)
    approvals = Approvals(books.pool, books.settings)
    path = Path.parse(["session:s1"])
    await books.hold("tool/ran", 0, 9)
    await books.budget("session:s1", limit_nano_usd=9, mode="approval")
    await books.ask("tool/asks", 0, 5)
    ticket = await approvals.request(TENANT, key="tool/asks", scope=path.scopes[-1], path=path, ask=Amount(0, 5))
    await end(books, "tool/ran", "tool/asks")
    assert await books.money() == {}
    assert (await approvals.get(TENANT, ticket.approval_id)).state is ApprovalState.WITHDRAWN
