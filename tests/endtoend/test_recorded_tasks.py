"""Real conversations as tasks: charged tokens are those of the provider's own log, for every agent, to the token."""

from pathlib import Path

import pytest

from purser.budget.pricing.price_book import PriceBook
from purser.budget.usage import Usage, normalize
from purser.compose.demo.recordings import MAKERS
from tests.support.runs.proof import sized
from tests.support.runs.recorded import run_recorded
from tests.support.servers.forked import Forks

pytestmark = pytest.mark.stack
COUNT = sized(1, 10)
"""Tasks of each data set."""


@pytest.mark.proof
def test_recorded_tasks_are_charged_exactly_what_the_provider_served(
    forks: Forks, tmp_path: Path, shared_data: Path
) -> None:
    ran = run_recorded(forks, tmp_path, shared_data, COUNT)
    prices = PriceBook.load()

    assert len(ran.ended) == COUNT * len(MAKERS)
    for task_id, task in ran.ended.items():
        assert task["status"] == "completed", task_id
        for agent in ran.submitted[task_id]["agents"]:
            shown, served = task["agents"][agent["id"]], ran.served_to(task_id, agent["id"])
            usages = [normalize(one.end.usage.payload()) for one in served if one.end and one.end.usage]
            assert len(usages) == len(served) == shown["turns"], "one request a turn"
            assert Usage.from_dict(shown["usage"]) == sum(usages, Usage(reasoning=0)), (task_id, agent["id"])
            assert shown["nano_usd"] == sum(prices.price(agent["model"]).cost(usage) for usage in usages)
        whole = sum(one.charged_tokens for one in ran.served if one.arrival.recording == task_id)
        for scope in (f"session:{task_id}", f"task:{task_id}"):
            tokens = task["scopes"][scope]["tokens"]
            assert (tokens["spent"], tokens["held"]) == (whole, 0)
    assert ran.audit["ok"], ran.audit["differences"]
