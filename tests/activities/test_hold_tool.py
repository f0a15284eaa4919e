"""The activity `hold_tool`, run again after each point at which its worker may have died."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from purser.activities.hold_tool import HoldTool
from purser.activities.tasks.agent_context import AgentContexts
from purser.budget.errors import AttemptConflict
from purser.budget.postgres.connections.pools import Pool
from purser.budget.scopes import Path
from purser.workflows.contract import Shortage, ToolAsk, ToolCall
from tests.support.ledger import TENANT, Books, report

PRICE = 500
CALL = ToolCall(TENANT, "s1", "t1", "a", 3, 0, name="web_search", nano_usd=PRICE)
ASK = ToolAsk(CALL, patient=False)


class OneAgent:
    """The context of the only agent."""

    async def of(self, _: Any) -> Any:
        return SimpleNamespace(path=Path.parse(["session:s1", "task:t1", "agent:t1/a"]))


@pytest.fixture
def books(pool: Pool) -> Books:
    return Books.on(pool)


@pytest.fixture
def activity(books: Books) -> HoldTool:
    return HoldTool(cast(AgentContexts, OneAgent()), books.ledger)


async def attempts(books: Books) -> list[tuple[int, str]]:
    """Number and state of each attempt."""
    rows = await books.pool.fetch("select attempt, state from attempts order by 1")
    return [(row["attempt"], row["state"]) for row in rows]


async def test_one_statement_holds_the_price_and_starts_the_attempt(books: Books, activity: HoldTool) -> None:
    held = await activity.hold_tool(ASK)
    assert held.hold_id
    assert await books.money() == {"held": PRICE}
    assert await attempts(books) == [(1, "started")]
    assert await activity.hold_tool(ASK) == held
    assert await attempts(books) == [(1, "started")]
    assert await books.money() == {"held": PRICE}


async def test_a_hold_that_has_been_settled_meanwhile_is_returned_as_it_is(books: Books, activity: HoldTool) -> None:
    held = await activity.hold_tool(ASK)
    await books.ledger.settle(TENANT, held.hold_id, 1, report(0, 400))
    assert await activity.hold_tool(ASK) == held
    assert await books.money() == {"spent": 400}


async def test_an_attempt_that_has_ended_is_not_started_again(books: Books, activity: HoldTool) -> None:
    held = await activity.hold_tool(ASK)
    await books.ledger.settle(TENANT, held.hold_id, 1, report(0, 400), keep_open=True)
    with pytest.raises(AttemptConflict):
        await activity.hold_tool(ASK)
    assert await attempts(books) == [(1, "reported")]


async def test_without_room_nothing_is_held_and_nothing_starts(books: Books, activity: HoldTool) -> None:
    await books.budget("session:s1", limit_nano_usd=PRICE - 1, mode="hard")
    refused = await activity.hold_tool(ASK)
    assert (refused.hold_id, refused.verdict) == ("", "refuse")
    assert refused.short == Shortage("session:s1", "limit", 0, PRICE)
    assert await attempts(books) == []
    assert await books.money() == {}
