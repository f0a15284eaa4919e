"""Resources that a worker and a gateway in one process share."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from temporalio.client import Client

from purser.budget.postgres.connections.pools import create_pool
from purser.budget.postgres.ledger.ledger import Ledger
from purser.compose.settings import Settings
from purser.compose.settings.ledger import ledger_settings
from purser.compose.settings.required import required
from purser.compose.telemetry.metrics import ProcessMetrics


@dataclass(frozen=True, slots=True)
class Shared:
    """Metrics, ledger and Temporal client of one process. A worker begins at once what its own client starts."""

    metrics: ProcessMetrics
    ledger: Ledger
    client: Client


@asynccontextmanager
async def opened_ledger(settings: Settings, size: int, shared: Shared | None = None) -> AsyncIterator[Ledger]:
    """Yield the shared ledger, or else a new one on its own pool of `size` connections."""
    if shared is not None:
        yield shared.ledger
        return
    async with await create_pool(required(settings, "dsn"), size=size) as pool:
        yield Ledger(pool, ledger_settings(settings))
