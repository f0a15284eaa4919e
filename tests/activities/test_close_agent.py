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
from purser.workflows.contract import WORKFLOW_ENDED, AgentClosing, AgentOutcome, AgentRef, AgentStatus
from tests.support.ledger import TENANT, Books

AGENTS = {"a": ["agent:t1/a"], "sub": ["agent:t1/a", "agent:t1/sub"], "b": ["agent:t1/b"]}
KEYS = pytest.mark.parametrize("key", ["call", "compression", "last"])


async def end(books: Books, *tool_keys: str, unused: tuple[str, ...] = ()) -> None:
    """Ends an agent whose last turn may have held under each of its keys, and for its tools; some were never called."""
    agent, outcome = AgentRef(TENANT, "t1", "a"), AgentOutcome("a", AgentStatus.CANCELLED)
    activity = CloseAgent(Agents(books.pool), books.ledger, Approvals(books.pool, books.settings))
    await activity.close_agent(
        AgentClosing(
            agent, outcome, key="call", compression_key="compression", last_key="last", tool_keys=tool_keys,
            unused_tool_keys=unused,
        )
    )  # fmt: skip


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


async def test_an_agent_whose_workflow_is_gone_leaves_no_hold_and_no_request_of_its_own(pool: Pool) -> None:
    books = Books.on(pool)
    approvals = Approvals(books.pool, books.settings)
    paths = {name: Path.parse(["session:s1", "task:t1", *scopes]) for name, scopes in AGENTS.items()}
    for name, path in paths.items():
        await books.hold(f"holds for {name}", 1, 0, *map(str, path.scopes))
    await books.budget("session:s1", limit_tokens=3, mode="approval")
    tickets = {}
    for name, path in paths.items():
        await books.ask(f"asks for {name}", 1, 0, *map(str, path.scopes))
        await books.budget(str(path.scopes[-1]), limit_tokens=1, mode="approval")
        tickets[name] = await approvals.request(
            TENANT, key=f"asks for {name}", scope=path.scopes[-1], path=path, ask=Amount(5), agent_id=name
        )
    activity = CloseAgent(Agents(books.pool), books.ledger, approvals)
    outcome = AgentOutcome("a", AgentStatus.FAILED, reason=WORKFLOW_ENDED)
    await activity.close_agent(AgentClosing(AgentRef(TENANT, "t1", "a"), outcome))
    held = await pool.fetch("select key from holds where state = 'held' order by key")
    assert [row["key"] for row in held] == ["holds for b", "holds for sub"]
    states = {name: (await approvals.get(TENANT, ticket.approval_id)).state for name, ticket in tickets.items()}
    assert states == {"a": ApprovalState.WITHDRAWN, "sub": ApprovalState.PENDING, "b": ApprovalState.PENDING}
    await books.check()


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


async def test_of_paid_tools_that_may_have_run_an_agent_is_charged_the_price_and_nothing_of_others(pool: Pool) -> None:
    books = Books.on(pool)
    keys = ("tool/called", "tool/unused", "tool/without a hold")
    for key in keys[:2]:
        await books.hold(key, 0, 9, start=True)
    for _ in range(2):
        await end(books, *keys, unused=keys[1:])
        assert await books.money() == {"spent": 9}
    await books.check()
