"""The HTTP benchmark: its search, what it counts as lost, and one short run on real parts."""

import asyncio
from pathlib import Path

import pytest

from purser.benchmarks import http
from purser.benchmarks.http.search import highest
from purser.benchmarks.http.streams import Seen, compare
from purser.benchmarks.http.system import system
from purser.compose.errors import StackError
from purser.compose.settings.limits import Limits
from tests.support.servers.purser import Purser

EXPECTED = [(10, 1.0), (12, 2.0)]


def test_the_highest_rate_that_is_sustained_is_found_within_a_tenth() -> None:
    found, tried = highest(lambda rate: rate <= 730)
    assert 730 / 1.1 <= found <= 730
    assert len(tried) < 12


def test_a_rate_is_tried_twice_and_not_a_third_time() -> None:
    asked: list[float] = []

    def sustained(rate: float) -> bool:
        asked.append(rate)
        return rate <= 100 and asked.count(rate) == 2

    found, _ = highest(sustained)
    assert found == 100
    assert max(asked.count(rate) for rate in asked) == 2


def test_where_nothing_is_sustained_the_search_ends() -> None:
    assert highest(lambda rate: False)[0] == 0


@pytest.mark.parametrize(
    ("positions", "broken", "expected"),
    [
        ([10, 12], "", (0, 0, 0)),
        ([9, 10, 12, 14], "", (0, 0, 0)),
        ([10], "", (1, 0, 0)),
        ([10, 10, 12], "", (0, 1, 0)),
        ([12, 10], "", (0, 0, 1)),
        ([10, 12], "ended", (0, 0, 0)),
    ],
)
def test_a_stream_must_report_every_event_once_and_in_order_to_its_end(
    positions: list[int], broken: str, expected: tuple[int, int, int]
) -> None:
    seen = [Seen(positions, [3.0] * len(positions), broken), Seen([10, 12], [1.5, 2.5])]
    compared = compare(seen, EXPECTED)
    assert (compared.lost, compared.doubled, compared.disordered) == expected
    assert compared.complete is (expected == (0, 0, 0) and not broken)


@pytest.mark.proof
@pytest.mark.stack
def test_a_short_run_loses_nothing_and_its_sums_agree() -> None:
    more_than_a_key_may_open = Limits().streams_per_key + 10
    found = asyncio.run(http.measure(seconds=0.5, streams=more_than_a_key_may_open, step_s=0.1)).results
    assert all(found["gate"].values()), (found["gate"], found["streams"], found["requests"])
    assert found["streams"]["events"] > 0
    assert [point["connections"] for point in found["closed_loops"]] == [1, 16, 64]
    assert all(point["requests_per_second"] > 0 for point in found["closed_loops"])
    assert found["operations"]  # which ones is drawn: half a second at the rate of a busy machine may hold a single one


def test_an_option_that_a_benchmark_does_not_have_is_bad_usage(tmp_path: Path) -> None:
    problem = Purser.at(tmp_path).json("bench", "tokens", "--streams", "5", code=2)
    assert "--streams" in problem["detail"]


@pytest.mark.stack
async def test_a_gateway_that_does_not_start_is_an_error_that_says_why() -> None:
    with pytest.raises(StackError, match=r"`purser gateway` did not start: lease_s \(PURSER_LEASE_S"):
        async with system(PURSER_LEASE_S="0"):
            pass
