"""Ladders at admission: a call takes every step that its ask reaches, before it is held, waits or is refused."""

from dataclasses import replace

import pytest

from purser.activities.calls.admission import Admission
from purser.activities.calls.ladder import CallLadder
from purser.budget.gate import Amount
from purser.budget.holds import HoldRequest
from purser.budget.postgres.connections.pools import Pool
from purser.budget.scopes import Path
from purser.workflows.contract import AdmitInput, Plan
from tests.activities.calls.test_admission import AGENT, TENANT, admission, limit, say

__all__ = ["admission"]
TASK = "task:t1"
CHEAPER = {"ratio": 0.8, "model": ["gpt-4o-mini"]}


async def fill(admission: Admission, tokens: int) -> None:
    """Holds tokens of the task for somebody else."""
    path = Path.parse([f"tenant:{TENANT}", "session:s1", TASK])
    await admission.ledger.hold(TENANT, HoldRequest(f"fill {tokens}", path, Amount(tokens)))


async def prompt_of(admission: Admission) -> int:
    """Input tokens of a call of the agent, which leaves nothing held."""
    await admission.admit(AdmitInput(AGENT, "probe", 1))
    await admission.ledger.release(TENANT, key="probe")
    return (await admission.calls.get(AGENT, "probe")).prompt_tokens


async def test_below_the_first_step_a_call_asks_for_what_its_agent_declares(admission: Admission) -> None:
    await limit(admission, TASK, limit_tokens=100_000, mode="hard", ladder=[CHEAPER, {"ratio": 0.9, "output": 300}])
    await admission.admit(AdmitInput(AGENT, "k1", 1))
    call = await admission.calls.get(AGENT, "k1")
    assert (call.model, call.output_cap, list(call.ladder)) == ("gpt-4o", 1_000, [])


async def test_a_call_that_would_be_refused_takes_its_steps_first(admission: Admission) -> None:
    prompt = await prompt_of(admission)
    await limit(admission, TASK, limit_tokens=10_000, mode="hard", ladder=[CHEAPER, {"ratio": 0.9, "output": 0.3}])
    await fill(admission, 10_000 - prompt - 300)
    steps: list[tuple[str, int]] = []
    admission = replace(admission, on_step=lambda kind, step: steps.append((kind, step)))
    answer = await admission.admit(AdmitInput(AGENT, "k1", 1))
    call = await admission.calls.get(AGENT, "k1")
    assert (answer.verdict, answer.tokens, call.model, call.output_cap) == ("warn", prompt + 300, "gpt-4o-mini", 300)
    # gpt-4o-mini: $0.15 a million tokens of input, $0.60 of output.
    assert answer.nano_usd == prompt * 150 + 300 * 600
    assert call.ladder == [{"scope": TASK, "step": 2, "ratio": 0.9, "model": "gpt-4o-mini", "output": 300}]
    assert steps == [("task", 2)]


async def test_an_ask_repeated_under_its_key_is_for_the_same_and_counts_no_step_again(admission: Admission) -> None:
    await limit(admission, TASK, limit_tokens=10_000, mode="hard", ladder=[{"ratio": 0.5, "output": 400}])
    await fill(admission, 9_900)
    steps: list[tuple[str, int]] = []
    admission = replace(admission, on_step=lambda kind, step: steps.append((kind, step)))
    first = await admission.admit(AdmitInput(AGENT, "k1", 1))
    assert first.verdict == "wait"
    # Further steps, and none at all, change nothing about a call that has asked.
    for ladder in ([{"ratio": 0.4, "output": 300}], []):
        await limit(admission, TASK, ladder=ladder)
        assert (await admission.admit(AdmitInput(AGENT, "k1", 1))).verdict == "wait"
    assert (await admission.calls.get(AGENT, "k1")).output_cap == 400
    await admission.ledger.release(TENANT, key="fill 9900")
    assert (await admission.admit(AdmitInput(AGENT, "k1", 1))).verdict in ("allow", "warn")
    assert steps == [("task", 1)]


async def test_an_ask_that_reaches_a_step_leaves_nothing_behind(admission: Admission, pool: Pool) -> None:
    await limit(admission, TASK, limit_tokens=2_000, mode="hard", ladder=[{"ratio": 0.1, "output": 300}])
    await admission.admit(AdmitInput(AGENT, "k1", 1))
    call = await admission.calls.get(AGENT, "k1")
    assert await pool.fetchval("select count(*) from holds") == 1
    held = await pool.fetch("select distinct held_tokens from balances")
    assert [row["held_tokens"] for row in held] == [call.prompt_tokens + 300]


async def test_a_last_call_takes_steps_too(admission: Admission) -> None:
    prompt = await prompt_of(admission)
    spare = {"limit_tokens": 10_000, "mode": "hard", "last_answer": 0.1}
    await limit(admission, TASK, **spare, ladder=[{"ratio": 0.5, "output": 300, "model": ["gpt-4o-mini"]}])
    await fill(admission, 9_000)
    assert (await admission.admit(AdmitInput(AGENT, "k1", 1))).verdict == "wait"
    assert (await admission.admit(AdmitInput(AGENT, "k2", 1, last=True))).verdict == "warn"
    call = await admission.calls.get(AGENT, "k2")
    assert (call.model, call.output_cap, call.ask.tokens >= prompt) == ("gpt-4o-mini", 300, True)


async def test_ladders_of_several_scopes_join(admission: Admission) -> None:
    await limit(
        admission, "session:s1", limit_tokens=100, ladder=[{"ratio": 0.9, "model": ["gpt-4o-mini"], "output": 500}]
    )
    await limit(
        admission,
        TASK,
        limit_tokens=100,
        ladder=[{"ratio": 0.9, "model": ["gpt-4o-mini", "gpt-4.1-nano"], "output": 300}],
    )
    await admission.admit(AdmitInput(AGENT, "k1", 1))
    call = await admission.calls.get(AGENT, "k1")
    assert (call.model, call.output_cap) == ("gpt-4.1-nano", 300)
    assert [(one["scope"], one["model"]) for one in call.ladder] == [
        ("session:s1", "gpt-4o-mini"),
        (TASK, "gpt-4.1-nano"),
    ]


async def test_the_ladder_of_a_model_applies_to_calls_of_that_model(admission: Admission) -> None:
    await limit(
        admission, "model:gpt-4o", limit_tokens=100, mode="hard", ladder=[{"ratio": 0.9, "model": ["gpt-4o-mini"]}]
    )
    answer = await admission.admit(AdmitInput(AGENT, "k1", 1))
    call = await admission.calls.get(AGENT, "k1")
    assert (answer.verdict, call.model) == ("allow", "gpt-4o-mini")
    assert [one["scope"] for one in call.ladder] == ["model:gpt-4o"]


async def test_a_model_that_cannot_be_reached_is_passed_over(admission: Admission) -> None:
    async def reaches(model: str, api_base: str | None) -> bool:
        return model != "gpt-4o-mini"

    admission = replace(admission, ladder=CallLadder(admission.agent_contexts, admission.room, reaches))
    names = ["gpt-4o-mini", "gpt-4.1-nano"]
    await limit(admission, TASK, limit_tokens=100, ladder=[{"ratio": 0.9, "model": names}])
    await admission.admit(AdmitInput(AGENT, "k1", 1))
    assert (await admission.calls.get(AGENT, "k1")).model == "gpt-4.1-nano"


async def test_a_step_that_changes_nothing_is_not_recorded(admission: Admission) -> None:
    ladder = [{"ratio": 0.9, "model": ["gpt-4"], "output": 5_000}]
    await limit(admission, TASK, limit_tokens=100, ladder=ladder)
    await admission.admit(AdmitInput(AGENT, "k1", 1))
    call = await admission.calls.get(AGENT, "k1")
    assert (call.model, call.output_cap, list(call.ladder)) == ("gpt-4o", 1_000, [])


@pytest.mark.parametrize("share", [0.01, 0.0001])
async def test_a_smaller_share_of_the_window_is_filled_and_what_is_left_out_is_to_be_summarised(
    admission: Admission, share: float
) -> None:
    await say(admission, 9)
    await limit(admission, TASK, limit_tokens=100, ladder=[{"ratio": 0.9, "compression": share}])
    advice = await admission.admit(AdmitInput(AGENT, "k1", 1))
    window = (await admission.agent_contexts.of(AGENT)).window_tokens
    assert (advice.plan, advice.compress_budget) == (Plan.COMPRESS, int(window * share))
    await admission.admit(AdmitInput(AGENT, "k1", 1, may_compress=False))
    await limit(admission, TASK, ladder=[])
    await admission.admit(AdmitInput(AGENT, "k2", 2, may_compress=False))
    small, whole = [await admission.calls.get(AGENT, key) for key in ("k1", "k2")]
    assert small.ladder == [{"scope": TASK, "step": 1, "ratio": 0.9, "compression": share}]
    assert small.prompt_tokens < whole.prompt_tokens
