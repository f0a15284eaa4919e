"""Reported usage in a running task: it shows the drift of counts, and corrects those without a public tokenizer."""

from prometheus_client import generate_latest

from purser.compose.demo.provider import Rule
from purser.context.postgres.conversation.calibration import Calibrations
from purser.context.tokens.calibration import ONE, Calibration
from tests.support.world import TENANT, World

UNKNOWN = "openai/model-of-tomorrow"
LONG = "Answer in one sentence, and name the source of every figure that you give. " * 40


def shown(system: World) -> list[str]:
    return generate_latest(system.dependencies.metrics.registry).decode().splitlines()


def drifts(system: World) -> list[str]:
    return [line for line in shown(system) if line.startswith("purser_token_drift_ratio_count")]


async def held(system: World, task_id: str) -> int:
    """Tokens of the first hold of a task."""
    found = await system.pool.fetchval("select tokens from calls where task_id = $1 order by turn limit 1", task_id)
    return int(found)


async def test_every_report_shows_how_far_the_count_was_off(system: World) -> None:
    task = await system.run(system.agent("a", instructions=LONG))
    reported = task["agents"]["a"]["usage"]["input"]
    ratio = (await held(system, task["task_id"]) - 100) / reported
    assert f'purser_estimate_ratio_sum{{model="openai/gpt-4o",part="prompt"}} {ratio}' in shown(system)
    assert drifts(system) == ['purser_token_drift_ratio_count{tokenizer="o200k_base"} 1.0']
    assert await Calibrations(system.pool).of(TENANT, "openai/gpt-4o") == Calibration()


async def test_a_model_without_a_public_tokenizer_is_held_for_as_its_reports_teach(system: World) -> None:
    first = await system.run(system.agent("a", instructions=LONG, model=UNKNOWN))
    learned = await Calibrations(system.pool).of(TENANT, UNKNOWN)
    assert learned.calls == 1
    assert 0.9 * ONE < learned.ratio < ONE, "the margin of caution is too much here"
    for _ in range(200):
        learned = await Calibrations(system.pool).learn(TENANT, UNKNOWN, 10_000, 8_000)
    second = await system.run(system.agent("b", instructions=LONG, model=UNKNOWN))
    before, after = await held(system, first["task_id"]), await held(system, second["task_id"])
    assert after - 100 == learned.tokens(before - 100)
    await system.audited()


async def test_a_call_without_reported_usage_teaches_nothing(system: World) -> None:
    system.provider.control.add_rule(Rule(report_usage=False))
    await system.run(system.agent("a", instructions=LONG, model=UNKNOWN))
    assert drifts(system) == []
    assert not [line for line in shown(system) if line.startswith("purser_estimate_ratio_count")]
    assert (await Calibrations(system.pool).of(TENANT, UNKNOWN)).calls == 0
