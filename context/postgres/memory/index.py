"""Indexer for memory search: indexes the messages of a session in batches."""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence

import asyncpg

from purser.budget.postgres.connections.pools import Connection, Pool, connected
from purser.budget.postgres.connections.queries import load
from purser.context.conversation.messages import Message
from purser.context.retrieval.postings import Indexed, Turn, index

_SQL = load("purser.context.postgres.memory", "memory.sql")
BATCH = 500
"""Messages indexed in one transaction."""


class MemoryIndex:
    """Maintains the postings of user and assistant messages of all tenants."""

    def __init__(self, pool: Pool) -> None:
        """Args:
        pool: from `purser.budget.postgres.connections.pools.create_pool`.
        """
        self._pool = pool

    async def catch_up(self, tenant: str, session_id: str, *, batches: int) -> int:
        """Indexes messages that are not yet indexed, oldest first, in at most `batches` batches.

        Concurrent callers take turns; each continues where the other stopped.

        Returns:
            Number of batches indexed; fewer than `batches` if the index is up to date.
        """
        for done in range(batches):
            if not await self._follow(tenant, session_id):
                return done
        return batches

    async def _follow(self, tenant: str, session_id: str) -> bool:
        """Indexes one batch; returns `False` if there was nothing to index."""
        async with connected(self._pool, None) as connection, connection.transaction():
            last_seq = await connection.fetchval(_SQL["follow"], tenant, session_id)
            rows = await connection.fetch(_SQL["unindexed"], tenant, session_id, last_seq, BATCH)
            if not rows:
                return False
            said = _said(rows)
            first = await self._turns(connection, tenant, session_id, list(said))
            indexed = await asyncio.to_thread(_index, said, first)
            for thread, turns in said.items():
                place = (tenant, session_id, thread)
                await self._add(connection, place, list(turns), first.get(thread, 0), indexed[thread])
            await connection.execute(_SQL["followed"], tenant, session_id, rows[-1]["seq"])
            return True

    async def _turns(
        self, connection: Connection, tenant: str, session_id: str, threads: Sequence[str]
    ) -> dict[str, int]:
        """Number of turns already indexed, by thread."""
        rows = await connection.fetch(_SQL["thread_turns"], tenant, session_id, threads)
        return {row["thread"]: row["turns"] for row in rows}

    async def _add(
        self, connection: Connection, place: tuple[str, str, str], seqs: list[int], first: int, indexed: Indexed
    ) -> None:
        await connection.execute(_SQL["add_turns"], *place, first, seqs)
        keys = list(indexed.postings)
        terms, blocks = [term for term, _ in keys], [block for _, block in keys]
        await connection.execute(_SQL["add_postings"], *place, terms, blocks, list(indexed.postings.values()))
        await connection.execute(_SQL["add_thread"], *place, indexed.turns, indexed.terms)


def _said(rows: Sequence[asyncpg.Record]) -> dict[str, dict[int, Turn]]:
    """Turns by thread and sequence number: message texts only, without tool calls and their results."""
    found: defaultdict[str, dict[int, Turn]] = defaultdict(dict)
    for row in rows:
        if row["body"] is not None:
            message = Message.parse(row["body"], row["seq"])
            if message.text.strip():
                found[row["thread"]][row["seq"]] = Turn(message.name, message.text)
    return dict(found)


def _index(said: Mapping[str, Mapping[int, Turn]], first: Mapping[str, int]) -> dict[str, Indexed]:
    return {thread: index(list(turns.values()), first.get(thread, 0)) for thread, turns in said.items()}
