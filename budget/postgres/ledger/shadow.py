"""Counts what policies that only record would have done; see `schema/limits/shadow.sql`."""

from collections.abc import Sequence
from datetime import datetime

from purser.budget.holds import HoldAnswer
from purser.budget.postgres.connections.pools import Connection, Pool, fetched
from purser.budget.postgres.connections.queries import load

_SQL = load("purser.budget.postgres.ledger", "ledger.sql")


async def count_shadow(
    pool: Pool, tenant: str, answers: Sequence[HoldAnswer], now: datetime | None, connection: Connection | None = None
) -> None:
    """Counts the admitted calls that a policy in shadow would have held up, each once. Most calls need no statement."""
    found = [
        (int(answer.hold_id), str(one.scope), one.would.outcome, one.would.delay_ms)
        for answer in answers
        if answer.hold_id is not None
        for one in answer.gate.scopes
        if one.would is not None and one.would.outcome is not None
    ]
    if found:
        await fetched(pool, connection, _SQL["count_shadow"], tenant, *map(list, zip(*found, strict=True)), now)
