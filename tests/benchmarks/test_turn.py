"""The benchmark of turns: one short run on real parts."""

import asyncio

import pytest

from purser.benchmarks.tasks.histories import Turn
from purser.benchmarks.turn import Kind, measure, outcome_of


def test_a_missed_target_is_shown_and_only_wrong_work_fails() -> None:
    kinds = [Kind(name, 1, [Turn(7, 900, took)]) for name, took in (("five activities", 0.2), ("an empty pair", 0.1))]
    kinds.append(Kind("a plain turn", 1, [Turn(9, 1_200, 0.05)]))
    outcome = outcome_of(kinds, {"right": True}, 1)
    assert outcome.gate_passed
    assert outcome.results["times"] == {"five activities": 0.25, "an empty pair": 0.5}
    assert [row[-1] for row in outcome.tables[1].rows] == [True, True, False]
    assert not outcome_of(kinds, {"right": False}, 1).gate_passed


@pytest.mark.proof
@pytest.mark.stack
def test_a_short_run_counts_the_events_of_each_turn_and_its_sums_agree() -> None:
    found = asyncio.run(measure(0, warm_up=1)).results
    assert all(found["gate"].values()), found
    five, pair, plain = found["turns"]
    # Each activity after the first is scheduled by a workflow task of its own: three events more than its own three.
    assert (five["events"], pair["events"], plain["events"]) == (3 + 3 + 4 * 6, 7, 7)
    assert five["bytes"] > pair["bytes"]
    assert found["times"].keys() == {"five activities", "an empty pair"}
