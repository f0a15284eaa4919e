"""Vector search over indexed messages, with the Postgres extension `vector`."""

from collections.abc import Collection, Sequence
from contextlib import suppress

import asyncpg

from purser.budget.postgres.connections.pools import Pool, connected
from purser.budget.postgres.connections.queries import load
from purser.budget.scopes import Path
from purser.context.conversation.messages import Message
from purser.context.retrieval import Embedder, Outcome, Vector

_SQL = load("purser.context.postgres.memory", "vectors.sql")
BATCH = 64
"""Maximum messages that one search embeds, in addition to its query."""
MOST_CHARACTERS = 4_000
"""Characters of a message that are embedded: the input of models is limited."""
Key = tuple[str, int]
"""Session and sequence number."""


class MemoryVectors:
    """Finds messages by meaning. Messages without a vector are embedded when a search runs."""

    def __init__(self, pool: Pool, embedder: Embedder) -> None:
        """Args:
        pool: from `purser.budget.postgres.connections.pools.create_pool`.
        embedder: computes the vectors.
        """
        self._pool = pool
        self._embedder = embedder

    async def nearest(
        self,
        tenant: str,
        sessions: Sequence[str],
        query: str,
        *,
        path: Path,
        without: Collection[Key],
        limit: int,
    ) -> tuple[list[Key], Outcome]:
        """Finds the messages of these sessions whose vectors are nearest to the query, nearest first.

        Args:
            tenant, sessions: the sessions to search.
            query: is embedded together with a batch of messages that have no vector of this model yet.
            path: budget path that pays.
            without: messages to leave out.
            limit: maximum number of messages.
        """
        async with connected(self._pool, None) as connection:
            if not await connection.fetchval(_SQL["exists"]):
                return [], Outcome.NO_EXTENSION
            model = self._embedder.model
            missing = await connection.fetch(_SQL["unembedded"], tenant, sessions, model, BATCH)
        texts = [Message.stored(row["body"]).text for row in missing]
        spoken = [text[:MOST_CHARACTERS] for text in texts if text.strip()]
        # No connection is held while the model works.
        vectors = await self._embedder.embed(tenant, path, [query[:MOST_CHARACTERS], *spoken])
        if vectors is None:
            return [], Outcome.NO_VECTORS
        about, *rest = map(_written, vectors)
        remaining = iter(rest)
        written = [next(remaining) if text.strip() else None for text in texts]
        async with connected(self._pool, None) as connection:
            keys = [row["session_id"] for row in missing], [row["seq"] for row in missing]
            # If a session was deleted meanwhile, the next search embeds the messages of the others again.
            with suppress(asyncpg.ForeignKeyViolationError):
                await connection.execute(_SQL["add"], tenant, model, *keys, written)
            left_out = [session_id for session_id, _ in without], [seq for _, seq in without]
            found = await connection.fetch(_SQL["nearest"], tenant, sessions, model, about, *left_out, limit)
        return [(row["session_id"], row["seq"]) for row in found], Outcome.FUSED


def _written(vector: Vector) -> str:
    """Formats a vector as the extension's text input."""
    return f"[{','.join(map(repr, vector))}]"
