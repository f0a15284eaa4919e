"""What settings mean to a worker and to a gateway: their parts, each made once."""

import gc

import pytest
from temporalio.client import Client

from purser.activities.metrics import Metrics
from purser.activities.registry import all_activities
from purser.budget.postgres.connections.pools import Pool, create_pool
from purser.budget.postgres.ledger.ledger import Ledger
from purser.compose.processes.gateway import build_services
from purser.compose.processes.worker import dependencies
from purser.compose.settings import Settings
from purser.gateway.metrics.requests import Metrics as RequestMetrics


@pytest.mark.parametrize(
    ("summarizer", "model", "trigger"),
    [("extractive", "", 0.75), ("none", "", 1.0), ("gpt-4o-mini", "gpt-4o-mini", 0.75)],
)
def test_a_summarizer_is_a_model_or_the_extractive_one_or_nothing_is_compressed(
    pool: Pool, summarizer: str, model: str, trigger: float
) -> None:
    given = dependencies(Settings(summarizer=summarizer), pool, pool, lambda: None, Metrics())
    assert (given.summariser_model, given.settings.context.trigger_ratio) == (model, trigger)


def ledgers(pool: Pool) -> list[Ledger]:
    """Every ledger that this process has over a pool."""
    return [one for one in gc.get_objects() if type(one) is Ledger and one.pool is pool]


async def test_whoever_works_in_a_worker_asks_the_one_ledger_of_his_pool(pool: Pool, dsn: str) -> None:
    async with await create_pool(dsn, size=1) as quick_pool:
        given = dependencies(Settings(embedding_model="openai/any"), pool, quick_pool, lambda: None, Metrics())
        activities = all_activities(given)
        assert activities
        assert ledgers(pool) == [given.stores.ledger]
        assert ledgers(quick_pool) == [given.quick.ledger]


async def test_whoever_works_in_a_gateway_asks_its_one_ledger(pool: Pool, dsn: str, temporal_client: Client) -> None:
    settings = Settings(dsn=dsn, embedding_model="openai/any")
    services = build_services(settings, pool, temporal_client, lambda: None, RequestMetrics())
    assert services.sessions.memory.asks_a_model
    assert ledgers(pool) == [services.ledger]
