"""Budgets of a running task: refusals, warnings, backpressure, waits and reduced output caps."""

import asyncio

from purser.budget.gate import Amount
from purser.budget.holds import HoldRequest
from purser.budget.scopes import Path
from tests.support.world import TENANT, World, eventually


async def test_a_refused_agent_lets_its_dependants_be_skipped_and_others_run_on(system: World) -> None:
    task = await system.run(
        system.agent("poor", budget={"limit_tokens": 10, "mode": "hard"}),
        system.agent("heir", depends_on=["poor"]),
        system.agent("free"),
    )
    ends = {name: (agent["status"], agent["reason"]) for name, agent in task["agents"].items()}
    assert ends == {"poor": ("refused", "limit"), "heir": ("skipped", "dependency"), "free": ("completed", "answered")}
    refusal = task["agents"]["poor"]["refusal"]
    assert task["agents"]["poor"]["scope"] == refusal["scope"] == f"agent:{task['task_id']}/poor"
    assert (refusal["limit"]["tokens"], refusal["spent"]["tokens"]) == (10, 0)
    assert refusal["asked"]["tokens"] == task["agents"]["poor"]["requested"]
    assert task["agents"]["free"]["refusal"] is None
    assert task["status"] == "partial"
    assert len(system.provider.served()) == 1
    await system.audited()


async def test_a_task_whose_agents_are_all_refused_is_refused(system: World) -> None:
    task = await system.run(system.agent("a"), budget={"task": {"limit_tokens": 10, "mode": "hard"}})
    assert task["status"] == "refused"
    assert system.provider.served() == ()


async def test_a_soft_limit_warns_slows_down_and_goes_on(system: World) -> None:
    await system.budget("session:soft", limit_tokens=10, backpressure=[["1.00", 120]])
    task = await system.run(system.agent("a"), session_id="soft")
    agent = task["agents"]["a"]
    assert (agent["status"], agent["delay_ms"]) == ("completed", 120)
    await system.audited()


async def test_a_call_waits_for_open_holds_of_others(system: World) -> None:
    await system.budget("session:shared", limit_tokens=1_000, mode="hard")
    path = Path.parse(["session:shared"])
    other = await system.ledger.hold(TENANT, HoldRequest("other", path, Amount(900)))
    task_id = await system.submit(system.agent("a"), session_id="shared")
    await eventually(lambda: system.pool.fetchval("select max(asks) > 1 from waiters"))
    await system.ledger.release(TENANT, hold_id=other.hold_id)
    task = await system.end(task_id)
    assert task["status"] == "completed"
    await system.audited()


async def test_after_the_longest_wait_the_mode_decides(idle: World) -> None:
    idle.dependencies = idle.with_settings(max_wait_s=1)
    await idle.budget("session:shared", limit_tokens=1_000, mode="hard")
    await idle.ledger.hold(TENANT, HoldRequest("other", Path.parse(["session:shared"]), Amount(900)))
    async with idle.worker():
        task = await idle.run(idle.agent("a"), session_id="shared")
    assert (task["status"], task["agents"]["a"]["reason"]) == ("refused", "limit")


async def test_cap_and_hold_shrink_together_when_only_part_fits(idle: World) -> None:
    idle.dependencies = idle.with_settings(min_output_tokens=10)
    await idle.budget("session:tight", limit_tokens=60, mode="hard")
    async with idle.worker():
        task = await idle.run(idle.agent("a", "word " * 200), session_id="tight")
    agent = task["agents"]["a"]
    assert agent["output_capped"]
    assert agent["usage"]["output"] < 100
    assert await idle.spent("session:tight") == 60
    await idle.audited()


async def test_what_has_no_price_is_refused_where_money_is_limited_and_free_elsewhere(system: World) -> None:
    unpriced = system.agent("a", model="openai/nobody-knows-this-model")
    assert (await system.run(unpriced))["status"] == "completed"
    task = await system.run(unpriced, budget={"task": {"limit_usd": "1"}})
    assert task["agents"]["a"]["reason"] == "unknown_price"


async def test_money_is_held_and_charged_at_the_models_price(system: World) -> None:
    task = await system.run(system.agent("a"), budget={"task": {"limit_usd": "1", "mode": "hard"}})
    usage = task["agents"]["a"]["usage"]
    # gpt-4o: $2.50 a million tokens of input, $10 of output.
    assert task["agents"]["a"]["nano_usd"] == usage["input"] * 2_500 + usage["output"] * 10_000


async def test_a_sub_agent_draws_on_what_is_left_of_its_parent(system: World) -> None:
    task = await system.run(
        system.agent("parent", budget={"limit_tokens": 130, "mode": "hard"}),
        system.agent("child", parent="parent", depends_on=["parent"]),
    )
    assert task["agents"]["child"]["status"] == "refused"
    assert task["agents"]["child"]["scope"] == f"agent:{task['task_id']}/parent"


async def test_a_gate_that_is_locked_for_long_is_waited_for_outside_the_workflow_task(system: World) -> None:
    await system.run(system.agent("a"), session_id="busy")
    async with system.pool.acquire() as other, other.transaction():
        await other.execute("select 1 from balances for update")
        task_id = await system.submit(system.agent("a"), session_id="busy")
        await system.until(task_id, lambda task: task["agents"]["a"]["status"] == "waiting")
        await asyncio.sleep(1)
        assert len(system.provider.served()) == 1
    assert (await system.end(task_id))["status"] == "completed"
    await system.audited()
