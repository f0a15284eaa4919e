"""Facts in Postgres: told once, kept when a later message contradicts them."""

from collections.abc import Iterable

from purser.budget.postgres.connections.pools import Connection, Pool, connected
from purser.budget.postgres.connections.queries import load
from purser.context.facts import Fact, Kind

_SQL = load("purser.context.postgres.conversation", "facts.sql")


class Facts:
    """Facts of all tenants."""

    def __init__(self, pool: Pool) -> None:
        """Args:
        pool: from `purser.budget.postgres.connections.pools.create_pool`.
        """
        self._pool = pool

    async def add(
        self, tenant: str, session_id: str, thread: str, facts: Iterable[Fact], connection: Connection | None = None
    ) -> None:
        """Adds facts, all or none; the same again adds nothing. A later value of a topic supersedes an earlier one.

        Locks the session's row until the transaction ends.

        Args:
            tenant, session_id, thread: where their messages are.
            facts: redacted.
            connection: joins its transaction.
        """
        rows = [_row(fact) for fact in facts]
        if not rows:
            return
        arguments = (tenant, session_id, thread, rows)
        async with connected(self._pool, connection) as own, own.transaction():
            await own.execute(_SQL["lock"], tenant, session_id)
            await own.execute(_SQL["add"], *arguments)
            await own.execute(_SQL["supersede"], *arguments)

    async def all(self, tenant: str, session_id: str, thread: str | None = None) -> list[Fact]:
        """The facts of a thread, or of all threads of a session, in sequence; superseded ones too."""
        async with connected(self._pool, None) as own:
            found = await own.fetch(_SQL["all"], tenant, session_id, thread)
        return [Fact(**{**dict(row), "kind": Kind(row["kind"])}) for row in found]


def _row(fact: Fact) -> dict[str, object]:
    return {
        "seq": fact.seq,
        "kind": fact.kind,
        "subject": fact.subject,
        "relation": fact.relation,
        "value": fact.value,
        "text": fact.text,
        "speaker": fact.speaker,
        "single": fact.topic is not None,
    }
