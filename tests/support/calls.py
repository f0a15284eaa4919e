"""Model calls of tasks, as stored."""

from dataclasses import replace

from purser.activities.postgres.calls.calls import Call, Calls
from purser.budget.gate import Amount
from purser.budget.postgres.connections.pools import Pool
from purser.context.conversation.conversations import SummaryRef
from purser.context.strategies import StrategyName
from purser.context.windows.plans import Dropped, MemoryRef, PersonalRef, TextRef, View, WindowPlan
from purser.context.windows.trimming import DOCUMENTS, Remedy, Trim
from purser.workflows.contract import AgentRef

PLAN = WindowPlan(
    budget=9_000,
    system_tokens=100,
    session=View("", (1, 2, 31, 33), SummaryRef(3, 3, 30, 400), (Dropped(32, 32, "over_budget"),), 640),
    replies=(TextRef(40, 50, "reader"), TextRef(38, 300, "critic")),
    question=TextRef(41, 10),
    own=View("t1/a", (42, 43, 44, 45), None, (), 700),
    dropped_replies=(TextRef(39, 5_000, "writer"),),
    strategy=StrategyName.THREE_PART,
    personal=PersonalRef((1, 0), 20),
    memory=MemoryRef((("s1", 7), ("s1", 9)), 300, 200),
    trims=(
        Trim(DOCUMENTS, Remedy.CLIPPED, 9_000, 200, 200),
        Trim(43, Remedy.CLEARED, 5_000, 48, 17),
        Trim(45, Remedy.CLIPPED, 9_000, 600, 599),
        Trim(32, Remedy.CLEARED, 800, 48, 17),
        Trim(38, Remedy.CLIPPED, 6_000, 300, 291),
    ),
    whole_tokens=20_000,
)
"""A window with parts in every state."""


async def plan_calls(pool: Pool, agent_id: str, task_id: str, count: int) -> None:
    """Stores calls of a task of the tenant `default`, as admission does, with keys `TASK_ID-k1`, …"""
    calls, ref = Calls(pool), AgentRef("default", task_id, agent_id)
    for turn in range(1, count + 1):
        plan = replace(PLAN, strategy_reason="much is old")
        call = Call(ref, f"{task_id}-k{turn}", turn, "priced-model", plan, 500, Amount(2_000), Amount(1_000))
        async with pool.acquire() as connection:
            await calls.add(call, connection)
