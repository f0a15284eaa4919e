"""Memory in Postgres: an index over stored messages that catches up when it is searched."""

from collections.abc import Collection

from budget.postgres.connection import Pool
from context.retrieval import Embedder, Found


class Memory:
    """Searches what users and assistants said, of all tenants; a search sees one tenant, and one session or user."""

    def __init__(self, pool: Pool, embedder: Embedder | None = None) -> None:
        """Args:
        pool: from `budget.postgres.connection.create_pool`.
        embedder: finds by meaning as well; `None`: by words alone.
        """
        self._pool = pool
        self._embedder = embedder

    async def search(
        self,
        tenant: str,
        session_id: str,
        query: str,
        *,
        limit: int,
        exclude_seqs: Collection[int] = (),
        user_id: str | None = None,
    ) -> list[Found]:
        """Messages that answer a query.

        Args:
            tenant, session_id: where to look.
            query: what is asked, such as the newest user message.
            limit: messages at most.
            exclude_seqs: messages of the session that are not wanted: the current one, and what the window shows.
            user_id: looks in all sessions of this user as well, `session_id` included.

        Returns:
            In time order. Fewer than `limit` if fewer share anything with the query.
        """
        return []
