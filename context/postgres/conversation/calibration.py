"""Store of token count calibrations, learned per tenant and model from reported usage."""

import asyncpg

from purser.budget.postgres.connections.pools import Pool, connected, fetchrow, row
from purser.budget.postgres.connections.queries import load
from purser.context.tokens import tokenizer_of
from purser.context.tokens.calibration import Calibration, is_calibrated

_SQL = load("purser.context.postgres.conversation", "calibration.sql")


class Calibrations:
    """Stores the calibrations of all tenants and models."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def of(self, tenant: str, model: str) -> Calibration:
        """The current calibration; a ratio of 1 for a model that is counted exactly or was never called."""
        if not is_calibrated(model):
            return Calibration()
        found = await fetchrow(self._pool, _SQL["read"], *_key(tenant, model))
        return _calibration(found) if found else Calibration()

    async def learn(self, tenant: str, model: str, counted: int, reported: int) -> Calibration:
        """Learns from the usage that a provider reported for a call, in its own transaction.

        Args:
            tenant, model: tenant and model of the call.
            counted: input tokens counted before calibration.
            reported: input tokens reported by the provider.

        Returns:
            The updated calibration.
        """
        if not is_calibrated(model):
            return Calibration()
        key = _key(tenant, model)
        async with connected(self._pool, None) as own, own.transaction():
            await own.execute(_SQL["begin"], *key)
            known = _calibration(row(await own.fetchrow(_SQL["lock"], *key)))
            learned = known.learned(counted, reported)
            if learned != known:
                await own.execute(_SQL["write"], *key, learned.ratio, learned.calls)
            return learned


def _key(tenant: str, model: str) -> tuple[str, str, str]:
    return tenant, model, tokenizer_of(model).encoding


def _calibration(found: asyncpg.Record) -> Calibration:
    return Calibration(found["ratio"], found["calls"])
