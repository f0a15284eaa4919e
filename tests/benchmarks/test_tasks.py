"""The benchmark of tasks: one short run on real parts."""

import asyncio

import pytest

from purser.benchmarks.tasks import measure


@pytest.mark.proof
@pytest.mark.stack
def test_a_short_run_completes_every_task_and_its_sums_agree() -> None:
    found = asyncio.run(measure(0.2, (2,), 3)).results
    assert all(found["gate"].values()), found
    assert [line["in_flight"] for line in found["lines"]] == [2]
    assert [one["workflow"] for one in found["workflows"]] == ["FiveActivities", "EmptyPair", "AgentTask", "AgentRun"]
    assert all(one["events"] and one["bytes"] for one in found["workflows"])
    assert found["parked"]["tasks"] == 3
    assert 0 < found["parked"]["first_ms"] <= found["parked"]["p50_ms"] <= found["parked"]["last_ms"]
