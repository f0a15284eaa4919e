"""What settings mean to a worker."""

import pytest

from purser.activities.metrics import Metrics
from purser.budget.postgres.connections.pools import Pool
from purser.compose.processes.worker import dependencies
from purser.compose.settings import Settings


@pytest.mark.parametrize(
    ("summarizer", "model", "trigger"),
    [("extractive", "", 0.75), ("none", "", 1.0), ("gpt-4o-mini", "gpt-4o-mini", 0.75)],
)
def test_a_summarizer_is_a_model_or_the_extractive_one_or_nothing_is_compressed(
    pool: Pool, summarizer: str, model: str, trigger: float
) -> None:
    given = dependencies(Settings(summarizer=summarizer), pool, pool, lambda: None, Metrics())
    assert (given.summariser_model, given.settings.context.trigger_ratio) == (model, trigger)
