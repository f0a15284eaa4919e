"""Indexer for memory search: indexes the messages of a session in batches."""

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import islice
from weakref import WeakValueDictionary

import asyncpg
import numpy as np

from purser.budget.postgres.connections.pools import Connection, Pool, connected
from purser.budget.postgres.connections.queries import load
from purser.context.conversation.messages import Message
from purser.context.postgres.conversation.counts import in_background
from purser.context.postgres.sessions.sessions import check_not_deleted
from purser.context.retrieval.postings import BLOCK, Indexed, Turn, index

_SQL = load("purser.context.postgres.memory", "memory.sql")
BATCH = BLOCK
"""Maximum messages indexed in one transaction: an import of chats then writes the rows of each block once."""
MOST_BYTES = 8_000_000
"""Size of stored messages from which a batch ends earlier."""
MOST_CHARACTERS = 1_000_000
"""Characters of texts from which a batch ends earlier, because each term is a row: 250 for each message of a chat."""
MOST_OF_MESSAGE = 200_000
"""Characters of one message that are indexed."""
ROWS = 4_000
"""Rows of postings that one statement writes."""
STATEMENT_S = 60.0
"""Statement timeout for them: what cannot be indexed could never be searched."""
MOST_SESSIONS = 4
"""Sessions indexed at the same time: each takes a connection, and the other connections remain for other requests."""
RETRY_S = 0.05
"""Pause before a batch is tried again that another process may have indexed."""


class MemoryIndex:
    """Maintains the postings of user and assistant messages of all tenants."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._turns = WeakValueDictionary[tuple[str, str], asyncio.Lock]()
        self._places = asyncio.Semaphore(MOST_SESSIONS)

    async def catch_up(self, tenant: str, session_id: str, *, seconds: float) -> bool:
        """Indexes messages that are not yet indexed, oldest first.

        Concurrent callers take turns, without a connection while they wait; each continues where the other stopped.

        Args:
            tenant, session_id: the session.
            seconds: no batch begins after this time, except the first one if no other caller indexes.

        Returns:
            Whether every message is indexed that was stored when this call began its last batch.

        Raises:
            SessionDeleted: the session was deleted.
        """
        until = time.monotonic() + seconds
        batch: _Batch | None = None
        async with _held(self._turns.setdefault((tenant, session_id), asyncio.Lock()), until) as is_next:
            while is_next:
                async with _held(self._places, until) as has_place:
                    if not has_place:
                        break
                    try:
                        batch = batch or await self._first(tenant, session_id)
                        batch = batch and await self._follow(tenant, session_id, batch)
                    except _OthersIndex:
                        batch = None
                        await asyncio.sleep(RETRY_S)
                    else:
                        if batch is None:
                            return True
                if time.monotonic() >= until:
                    break
        return False

    async def _first(self, tenant: str, session_id: str) -> "_Batch | None":
        """The first batch, ready to store; `None` if there is nothing to index. Raises `_OthersIndex`."""
        async with connected(self._pool, None) as connection:
            found = await connection.fetchrow(_SQL["indexed"], tenant, session_id)
            if found is None:
                await check_not_deleted(connection, tenant, session_id)
                return None
            last_seq = found["last_seq"] or 0
            unindexed = await _read(connection, tenant, session_id, last_seq, {})
            if unindexed is None:
                return None
            if found["last_seq"] is None:
                await connection.execute(_SQL["begin"], tenant, session_id)
            if await connection.fetchrow(_SQL["claim"], tenant, session_id, last_seq) is None:
                raise _OthersIndex
        # Without a connection of its own: it may take long.
        return await in_background(_batch, unindexed)

    async def _follow(self, tenant: str, session_id: str, batch: "_Batch") -> "_Batch | None":
        """Stores a batch, and meanwhile prepares the next one; `None` if nothing is left. Raises `_OthersIndex`."""
        async with connected(self._pool, None) as connection:
            unindexed = await _read(connection, tenant, session_id, batch.last_seq, batch.turns)
        stored = self._store(tenant, session_id, batch)
        if unindexed is None:
            await stored
            return None
        _, following = await asyncio.gather(stored, in_background(_batch, unindexed))
        return following

    async def _store(self, tenant: str, session_id: str, batch: "_Batch") -> None:
        """Stores a batch, unless another process indexes the session or did so meanwhile: raises `_OthersIndex`."""
        async with connected(self._pool, None) as connection, connection.transaction():
            if await connection.fetchrow(_SQL["claim"], tenant, session_id, batch.after) is None:
                raise _OthersIndex
            for part in batch.parts:
                await self._add(connection, (tenant, session_id, part.thread), part)
            await connection.execute(_SQL["followed"], tenant, session_id, batch.last_seq)

    async def _add(self, connection: Connection, place: tuple[str, str, str], part: "_Part") -> None:
        indexed = part.indexed
        for block, seqs, flags in part.blocks():
            await connection.execute(_SQL["add_turns"], *place, block, seqs[-1], _packed(seqs), flags)
        postings = iter(indexed.postings.items())
        while rows := list(islice(postings, ROWS)):
            columns = [key[0] for key, _ in rows], [key[1] for key, _ in rows], [packed for _, packed in rows]
            await connection.execute(_SQL["add_postings"], *place, *columns, timeout=STATEMENT_S)
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


class _OthersIndex(Exception):
    """Another process indexes the session, or did so meanwhile."""


@dataclass(frozen=True)
class _Unindexed:
    """Messages of a session to index next."""

    after: int
    """The last message before them."""
    rows: Sequence[asyncpg.Record]
    turns: Mapping[str, int]
    """Turns before them by thread, as far as known."""


@dataclass(frozen=True)
class _Batch:
    """Index entries of consecutive messages of a session."""

    after: int
    """The last message before them."""
    last_seq: int
    parts: Sequence[_Part]
    turns: Mapping[str, int]
    """Turns by thread, these included, as far as known."""


async def _read(
    connection: Connection, tenant: str, session_id: str, after: int, known: Mapping[str, int]
) -> _Unindexed | None:
    """Reads what is to be indexed after a message, given the known turns by thread; `None` if there is nothing."""
    rows = await connection.fetch(_SQL["unindexed"], tenant, session_id, after, BATCH, MOST_BYTES, MOST_CHARACTERS)
    if not rows:
        return None
    turns = dict(known)
    if threads := list({row["thread"] for row in rows}.difference(known)):
        found = await connection.fetch(_SQL["thread_turns"], tenant, session_id, threads)
        turns |= {row["thread"]: row["turns"] for row in found}
    return _Unindexed(after, rows, turns)


def _batch(unindexed: _Unindexed) -> _Batch:
    parts = _parts(unindexed.rows, unindexed.turns)
    turns = {**unindexed.turns, **{part.thread: part.first + len(part.seqs) for part in parts}}
    return _Batch(unindexed.after, unindexed.rows[-1]["seq"], parts, turns)


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
                said[row["seq"]] = Turn(row["role"], body.get("name"), text[:MOST_OF_MESSAGE], row["day"])
    return [
        _Part(thread, place, list(said), index(list(said.values()), place), tools[thread])
        for thread, said in turns.items()
        for place in [first.get(thread, 0)]
    ]


@asynccontextmanager
async def _held(lock: asyncio.Lock | asyncio.Semaphore, until: float) -> AsyncIterator[bool]:
    """Holds a lock; yields `False` if it was not free until then."""
    try:
        async with asyncio.timeout(until - time.monotonic()):
            await lock.acquire()
    except TimeoutError:
        yield False
        return
    try:
        yield True
    finally:
        lock.release()


def _packed(seqs: Sequence[int]) -> bytes:
    return np.array(seqs, ">i8").tobytes()
