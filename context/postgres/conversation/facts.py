"""Postgres store of facts: each is stored once and remains stored when a later message supersedes it."""

from collections.abc import Iterable

from purser.budget.postgres.connections.pools import Connection, Pool, connected
from purser.budget.postgres.connections.queries import load
from purser.context.facts import Fact, Kind

_SQL = load("purser.context.postgres.conversation", "facts.sql")


class Facts:
    """Stores the facts of all tenants."""

    def __init__(self, pool: Pool) -> None:
        """Args:
        pool: from `purser.budget.postgres.connections.pools.create_pool`.
        """
        self._pool = pool

    async def add(
        self, tenant: str, session_id: str, thread: str, facts: Iterable[Fact], connection: Connection | None = None
    ) -> None:
        """Adds facts atomically; a repeated fact adds nothing. A later value of a topic supersedes an earlier one.

        Locks the session's row until the transaction ends.

        Args:
            tenant, session_id, thread: the conversation of their messages.
            facts: facts of redacted text.
            connection: connection whose transaction the call joins.
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
        """The facts of a thread, or of all threads of a session, in sequence, including superseded ones."""
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
