"""Workers and gateways built from settings: each part is created once."""

import gc

import pytest
from temporalio.client import Client

from purser.activities.runtime.metrics import Metrics
from purser.activities.runtime.registry import all_activities
from purser.budget.postgres.connections.pools import Pool, create_pool
from purser.budget.postgres.ledger.ledger import Ledger
from purser.budget.postgres.ledger.settings import LedgerSettings
from purser.compose.processes.gateway import build_services
from purser.compose.processes.worker import dependencies
from purser.compose.settings import Settings
from purser.compose.settings.ledger import ledger_settings
from purser.gateway.metrics.requests import Metrics as RequestMetrics


@pytest.mark.parametrize(
    ("summarizer", "model", "trigger"),
    [("extractive", "", 0.75), ("none", "", 1.0), ("gpt-4o-mini", "gpt-4o-mini", 0.75)],
)
def test_a_summarizer_is_a_model_or_the_extractive_one_or_nothing_is_compressed(
    pool: Pool, summarizer: str, model: str, trigger: float
) -> None:
    given = dependencies(Settings(summarizer=summarizer), Ledger(pool, LedgerSettings()), pool, lambda: None, Metrics())
    assert (given.summarizer_model, given.settings.context.settings.trigger_ratio) == (model, trigger)


def ledgers(pool: Pool) -> list[Ledger]:
    """Every `Ledger` object of this process on a pool."""
    return [one for one in gc.get_objects() if type(one) is Ledger and one.pool is pool]


async def test_all_parts_of_a_process_use_one_ledger_per_pool(pool: Pool, dsn: str, temporal_client: Client) -> None:
    settings = Settings(dsn=dsn, embedding_model="openai/any")
    async with await create_pool(dsn, size=1) as quick_pool:
        ledger = Ledger(pool, ledger_settings(settings))
        services = build_services(settings, ledger, temporal_client, lambda: None, RequestMetrics())
        given = dependencies(settings, ledger, quick_pool, lambda: None, Metrics())
        activities = all_activities(given)
        assert activities
        assert services.sessions.memory.asks_a_model
        assert ledgers(pool) == [ledger]
        assert ledgers(quick_pool) == [given.quick.ledger]
