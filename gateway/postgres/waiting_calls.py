"""Calls without an `Idempotency-Key` that wait for a person's decision: a repetition joins the one before it."""

from purser.budget.postgres.connections.pools import Pool, fetchval
from purser.budget.postgres.connections.queries import load

_SQL = load("purser.gateway.postgres", "waiting_calls.sql")


async def waiting_call(pool: Pool, tenant: str, kin: str, last: str) -> str | None:
    """Returns the key of the call that waits longest among equal ones.

    Args:
        pool, tenant: where to look.
        kin: what the keys of equal calls begin with.
        last: the key under which this call has waited; it stays with it if no call waits any more.

    Raises:
        LedgerUnavailable: Postgres is unavailable.
    """
    found: str | None = await fetchval(pool, _SQL["waiting"], tenant, kin, last)
    return found
