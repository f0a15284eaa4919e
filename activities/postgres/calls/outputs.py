"""The store of output that replies needed, by agent and model: what learned holds learn from."""

from purser.budget.learned_holds import REMEMBERED
from purser.budget.postgres.connections.pools import Connection, Pool, fetchval
from purser.budget.postgres.connections.queries import load

_SQL = load("purser.activities.postgres.calls", "outputs.sql")


class Outputs:
    """Output of the latest replies of all agents. Agents of a tenant that have the same id learn together."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def seen(self, tenant: str, agent_id: str, model: str) -> list[int]:
        """Returns the output tokens of the latest replies, newest first."""
        return await fetchval(self._pool, _SQL["seen"], tenant, agent_id, model) or []

    async def add(self, tenant: str, agent_id: str, model: str, tokens: int, connection: Connection) -> None:
        """Adds the output tokens of a reply, in the transaction that settles it.

        It comes last in the transaction, after the locks of the ledger: no two transactions wait for each other.
        """
        await connection.execute(_SQL["add"], tenant, agent_id, model, tokens, REMEMBERED)
