"""Agents that spend less as their budget fills up, with a real worker and provider."""

from purser.activities.postgres.timeline import Timelines
from tests.support.world import TENANT, World, calls

PADDING = "word " * 100


async def test_an_agent_goes_on_with_a_cheaper_model_and_less_output(idle: World) -> None:
    ladder = [{"ratio": 0.5, "model": ["gpt-4o-mini"]}, {"ratio": 1, "output": 300}]
    agent = idle.agent(
        "a", calls("unknown", text=PADDING), "Done.", model="gpt-4o", max_output_tokens=1_000,
        budget={"limit_tokens": 1_200, "mode": "hard", "ladder": ladder},
    )  # fmt: skip
    await idle.dependencies.provider.warm_up()
    async with idle.worker():
        task = await idle.run(agent)
    scope = f"agent:{task['task_id']}/a"
    assert (task["status"], task["agents"]["a"]["reply"]) == ("completed", "Done.")
    assert [one.arrival.model for one in idle.provider.served()] == ["gpt-4o-mini"] * 2
    page = await Timelines(idle.pool).turns(TENANT, task["task_id"])
    notes = [[step.note for step in turn.steps if step.kind == "ladder"] for turn in page.turns]
    assert notes == [
        [f"step 1 of {scope}: model gpt-4o-mini"],
        [f"step 2 of {scope}: model gpt-4o-mini, 300 output tokens"],
    ]
    assert {turn.model for turn in page.turns} == {"gpt-4o-mini"}
    registry = idle.dependencies.metrics.registry
    taken = [registry.get_sample_value("purser_ladder_steps_total", {"kind": "agent", "step": n}) for n in ("1", "2")]
    assert taken == [1, 1]
    held = await idle.pool.fetch("select distinct model from holds where model is not null")
    assert [row["model"] for row in held] == ["gpt-4o-mini"]
    await idle.audited()


async def test_a_call_refused_without_a_ladder_is_answered_with_one(idle: World) -> None:
    bounds = {"limit_tokens": 600, "mode": "hard"}
    agents = [
        idle.agent("plain", max_output_tokens=1_000, budget=bounds),
        idle.agent("thrifty", max_output_tokens=1_000, budget=bounds | {"ladder": [{"ratio": 1, "output": 0.4}]}),
    ]
    idle.dependencies = idle.with_settings(min_output_tokens=1_000)
    async with idle.worker():
        task = await idle.run(agents[0])
        assert task["status"] == "refused"
        idle.dependencies = idle.with_settings(min_output_tokens=10)
    async with idle.worker():
        task = await idle.run(agents[1])
    assert task["status"] == "completed"
