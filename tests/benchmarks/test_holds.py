"""The benchmark of holds: what it counts, on conversations of our own making."""

from decimal import Decimal
from typing import Any

import pytest

from purser.benchmarks.holding.answers import THRIFTS, UNITS, answers
from purser.benchmarks.holding.sizing import Sizing
from purser.benchmarks.holding.transcripts import OUTPUT_CAP, RecordedCall, calls_of
from purser.benchmarks.holds import measure
from purser.budget.learned_holds import ENOUGH
from purser.budget.postgres.connections.pools import Pool

QUANTILE = Decimal("0.5")


def recorded(words: int) -> RecordedCall:
    """A call whose reply has this many tokens."""
    return RecordedCall("a", 100, 50, " word" * words, words)


SHORT_THEN_LONG = [[recorded(10)] * ENOUGH, [recorded(10)] * ENOUGH, [recorded(10)] * ENOUGH + [recorded(900)]]


def test_each_reply_answers_all_that_was_said_before() -> None:
    call = {"function": {"name": "look", "arguments": "{}"}}
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "one two"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": "three"},
        {"role": "assistant", "content": "word " * 5_000, "name": "writer"},
    ]
    first, second = calls_of({"messages": messages})
    assert (first.agent_id, first.reply, second.agent_id) == ("assistant", "look{}", "writer")
    assert second.prompt_tokens > first.prompt_tokens + first.output
    assert (second.output, first.output < OUTPUT_CAP) == (OUTPUT_CAP, True)


@pytest.mark.proof
async def test_what_exceeds_a_learned_hold_is_overrun_and_a_top_up_avoids_it(pool: Pool) -> None:
    plain = await measure(pool, "own", SHORT_THEN_LONG, "100", Sizing("plain", QUANTILE))
    assert (plain.tally.served, plain.starved, plain.tally.topped_up) == (plain.tally.calls, 0, 0)
    assert plain.tally.overrun == 900 - 256
    grown = await measure(pool, "own", SHORT_THEN_LONG, "100", Sizing("grown", QUANTILE, grows=True))
    assert (grown.tally.overrun, grown.tally.topped_up, grown.tally.cut) == (0, 1, 0)
    assert (grown.tally.charged, grown.tally.finished) == (plain.tally.charged, 3)
    assert plain.gate_passed
    assert grown.gate_passed


async def test_calls_that_wait_are_refused_or_never_made_are_starved(pool: Pool) -> None:
    tight = await measure(pool, "own", [[recorded(10)] * 3] * 4, "0.5", Sizing("worst case"))
    assert tight.tally.refused > 0
    assert tight.starved == tight.tally.waited + tight.tally.calls - tight.tally.served <= tight.tally.calls
    assert tight.gate_passed


@pytest.mark.proof
@pytest.mark.parametrize("unit", UNITS)
async def test_tasks_that_refusals_alone_leave_without_an_answer_end_with_one(pool: Pool, unit: str) -> None:
    task = [RecordedCall("a", 1_000 * turn, 500, " word" * 50, 50) for turn in range(1, 7)]
    alone, last, ladder, both = [
        await answers(pool, [task] * 2, thrift, unit)
        for thrift in THRIFTS
        if thrift.name in ("refuse only", "last answer", "ladder", "all three")
    ]
    assert (alone.tally.answered, alone.tally.refused) == (0, 2)
    assert (last.tally.answered, last.tally.last_answers) == (2, 2)
    assert ladder.tally.eased > 0
    assert ladder.tally.served > alone.tally.served
    assert both.tally.answered == 2
    assert all(one.gate_passed and one.tally.beyond == 0 for one in (alone, last, ladder, both))
