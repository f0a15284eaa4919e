"""Indexer for memory search: indexes the messages of a session in batches."""

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import asyncpg
import numpy as np

from purser.budget.postgres.connections.pools import Connection, Pool, connected
from purser.budget.postgres.connections.queries import load
from purser.context.conversation.messages import Message
from purser.context.retrieval.postings import BLOCK, Indexed, Turn, index

_SQL = load("purser.context.postgres.memory", "memory.sql")
BATCH = BLOCK
"""Maximum messages indexed in one transaction: an import of chats then writes the rows of each block once."""
MOST_BYTES = 8_000_000
"""Size of stored messages from which a batch ends earlier."""


class MemoryIndex:
    """Maintains the postings of user and assistant messages of all tenants."""

    def __init__(self, pool: Pool) -> None:
        """Args:
        pool: from `purser.budget.postgres.connections.pools.create_pool`.
        """
        self._pool = pool

    async def catch_up(self, tenant: str, session_id: str, *, seconds: float) -> bool:
        """Indexes messages that are not yet indexed, oldest first.

        Concurrent callers take turns; each continues where the other stopped.

        Args:
            tenant, session_id: the session.
            seconds: no batch begins after this time; at least one is indexed.

        Returns:
            Whether every message is indexed that was stored when this call began its last batch.
        """
        until = time.monotonic() + seconds
        while await self._follow(tenant, session_id):
            if time.monotonic() >= until:
                return False
        return True

    async def _follow(self, tenant: str, session_id: str) -> bool:
        """Indexes one batch; returns `False` if there was nothing to index."""
        async with connected(self._pool, None) as connection, connection.transaction():
            last_seq = await connection.fetchval(_SQL["follow"], tenant, session_id)
            rows = await connection.fetch(_SQL["unindexed"], tenant, session_id, last_seq, BATCH, MOST_BYTES)
            if not rows:
                return False
            first = await self._turns(connection, tenant, session_id, list({row["thread"] for row in rows}))
            for part in await asyncio.to_thread(_parts, rows, first):
                await self._add(connection, (tenant, session_id, part.thread), part)
            await connection.execute(_SQL["followed"], tenant, session_id, rows[-1]["seq"])
            return True

    async def _turns(
        self, connection: Connection, tenant: str, session_id: str, threads: Sequence[str]
    ) -> dict[str, int]:
        """Number of turns already indexed, by thread."""
        rows = await connection.fetch(_SQL["thread_turns"], tenant, session_id, threads)
        return {row["thread"]: row["turns"] for row in rows}

    async def _add(self, connection: Connection, place: tuple[str, str, str], part: "_Part") -> None:
        indexed = part.indexed
        for block, seqs, flags in part.blocks():
            await connection.execute(_SQL["add_turns"], *place, block, seqs[-1], _packed(seqs), flags)
        keys = list(indexed.postings)
        terms, blocks = [term for term, _ in keys], [block for _, block in keys]
        await connection.execute(_SQL["add_postings"], *place, terms, blocks, list(indexed.postings.values()))
        sizes = len(part.seqs), indexed.terms, indexed.size, indexed.user_size, part.tool_messages
        await connection.execute(_SQL["add_thread"], *place, *sizes)


@dataclass(frozen=True)
class _Part:
    """Index entries of one thread in a batch: texts of users and assistants, without tool calls and their results."""

    thread: str
    first: int
    """Place of the first turn."""
    seqs: Sequence[int]
    """Sequence numbers of the turns."""
    indexed: Indexed
    tool_messages: int

    def blocks(self) -> Iterator[tuple[int, Sequence[int], bytes]]:
        """Number, sequence numbers and flags of each block that the turns reach."""
        begin = 0
        while begin < len(self.seqs):
            block = (self.first + begin) // BLOCK
            end = min(len(self.seqs), (block + 1) * BLOCK - self.first)
            yield block, self.seqs[begin:end], self.indexed.flags[begin:end]
            begin = end


def _parts(rows: Sequence[asyncpg.Record], first: Mapping[str, int]) -> list[_Part]:
    turns: defaultdict[str, dict[int, Turn]] = defaultdict(dict)
    tools = Counter[str]()
    for row in rows:
        said = turns[row["thread"]]
        tools[row["thread"]] += row["role"] == "tool" or row["calls"]
        if row["body"] is not None:
            # Stored bodies are valid: parsing them again would take as long as indexing them.
            body = row["body"]
            content = body.get("content")
            text = Message(row["role"], tuple(content) if isinstance(content, list) else content).text
            if text.strip():
                said[row["seq"]] = Turn(row["role"], body.get("name"), text, row["day"])
    return [
        _Part(thread, place, list(said), index(list(said.values()), place), tools[thread])
        for thread, said in turns.items()
        for place in [first.get(thread, 0)]
    ]


def _packed(seqs: Sequence[int]) -> bytes:
    return np.array(seqs, ">i8").tobytes()
