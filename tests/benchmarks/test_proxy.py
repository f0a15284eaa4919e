"""The benchmark of the proxy: one short run on real parts, and what its lines say."""

import asyncio
from collections import Counter

import pytest

from purser.benchmarks.closed_loops import Measured
from purser.benchmarks.proxy import Line, measure


def test_a_line_shows_what_the_proxy_adds() -> None:
    bare, through = Measured([0.010] * 3, Counter({200: 3}), 1.0), Measured([0.014] * 2, Counter({200: 2}), 1.0)
    line = Line(1, False, bare, through)
    assert (line.figures()["added_p50_ms"], line.figures()["per_s"], line.answered) == (4.0, 2.0, True)
    through.answers[429] += 1
    assert not line.answered


@pytest.mark.proof
@pytest.mark.stack
def test_a_short_run_overspends_nothing_and_its_sums_agree() -> None:
    found = asyncio.run(measure(0.2, (2,))).results
    assert all(found["gate"].values()), found
    assert [(line["callers"], line["streams"]) for line in found["lines"]] == [(2, False), (2, True)]
