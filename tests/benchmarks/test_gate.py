"""The benchmark of ways to limit calls: one short run on real parts, and what its rows say."""

import asyncio

import pytest

from purser.benchmarks.gate import HTTP, LITELLM, Peer, Row, measure, outcome_of
from purser.benchmarks.limiters import load
from purser.benchmarks.limiters.load import TIGHT, Loaded
from tests.support.runs.proof import sized

QUICK = Loaded(calls_per_s=100.0, p50_ms=1.0, p99_ms=2.0, wrong=0, answered=TIGHT, refused=400, served=TIGHT)
SLOW = Loaded(calls_per_s=40.0, p50_ms=1.0, p99_ms=2.0, wrong=0, answered=130, refused=370, served=150)


def test_rates_are_compared_and_a_peer_that_overspends_fails_nothing() -> None:
    outcome = outcome_of([Row(HTTP, "", QUICK), Row(LITELLM, "1", SLOW)], {"right": True}, 1)
    assert outcome.gate_passed
    assert outcome.results["http_over_litellm_proxy"] == 2.5
    assert [way["overspent"] for way in outcome.results["ways"]] == [0, 50]
    assert not outcome_of([Row(HTTP, "", QUICK)], {"right": False}, 1).gate_passed


@pytest.mark.proof
@pytest.mark.stack
def test_purser_overspends_nothing_and_a_peer_that_is_not_installed_is_a_row_that_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(load, "CALLS", sized(3, load.CALLS))
    outcome = asyncio.run(measure(0.2, [Peer("nobody's", "nonesuch", "nonesuch", "nonesuch")]))
    assert all(outcome.results["gate"].values()), outcome.results
    *ours, nobody = outcome.results["ways"]
    assert [way["way"] for way in ours] == ["Purser in-process", HTTP, "Purser's proxy"]
    assert all(way["overspent"] == way["wrong"] == 0 for way in ours)
    assert nobody["note"] == "not installed: make peers"
