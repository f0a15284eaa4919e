"""The benchmark of proxies: one short run on real parts, and what its lines say."""

import asyncio
from collections import Counter

import pytest

from purser.benchmarks import ALIASES, NAMES
from purser.benchmarks.closed_loops import Measured
from purser.benchmarks.limiters.load import TIGHT, Overload
from purser.benchmarks.proxy import measure
from purser.benchmarks.proxy.lines import LITELLM, PURSER, Line, outcome_of

EXACT = Overload(answered=TIGHT, refused=400, served=TIGHT)
BEYOND = Overload(answered=130, refused=370, served=150)


def _measured(took_s: float, calls: int) -> Measured:
    return Measured([took_s] * calls, Counter({200: calls}), 1.0)


def test_a_line_shows_what_each_proxy_adds() -> None:
    line = Line(1, False, _measured(0.010, 9), {PURSER: _measured(0.014, 6), LITELLM: _measured(0.020, 3)})
    assert [(row["way"], row["added_p50_ms"], row["per_s"]) for row in line.rows()] == [
        ("straight", 0.0, 9.0),
        (PURSER, 4.0, 6.0),
        (LITELLM, 10.0, 3.0),
    ]
    assert (line.times, line.answered) == (2.0, True)


def test_only_what_purser_does_not_answer_makes_a_line_invalid() -> None:
    line = Line(1, False, _measured(0.010, 9), {PURSER: _measured(0.014, 6), LITELLM: _measured(0.020, 3)})
    line.through[LITELLM].answers["ClientOSError"] += 1
    assert line.answered
    assert [row["failed"] for row in line.rows()] == [0, 0, 1]
    line.through[PURSER].answers[429] += 1
    assert not line.answered


def test_a_peer_that_overspends_or_is_not_there_fails_nothing() -> None:
    alone = Line(1, True, _measured(0.010, 9), {PURSER: _measured(0.014, 6)})
    assert outcome_of([alone], {PURSER: EXACT}, {"right": True}, {}).results["times_litellm"] == []
    outcome = outcome_of([alone], {PURSER: EXACT, LITELLM: BEYOND}, {"right": True}, {})
    assert outcome.gate_passed
    assert [one["overspent"] for one in outcome.results["tight_budget"]] == [0, 50]
    assert not outcome_of([alone], {PURSER: EXACT}, {"right": False}, {}).gate_passed


def test_other_names_are_those_of_benchmarks() -> None:
    assert set(ALIASES.values()) <= set(NAMES)
    assert not ALIASES.keys() & set(NAMES)


@pytest.mark.proof
@pytest.mark.stack
def test_a_short_run_overspends_nothing_and_its_sums_agree() -> None:
    found = asyncio.run(measure(0.2, (2,), peer=False)).results
    assert all(found["gate"].values()), found
    assert {(row["callers"], row["streams"], row["way"]) for row in found["lines"]} == {
        (2, streams, way) for streams in (False, True) for way in ("straight", PURSER)
    }
