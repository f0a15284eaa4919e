"""Memory search in Postgres, over an index of stored messages that catches up when it is searched.

A search covers one session, or those of one user: the first statement selects them, and every other statement is bound
to the tenant and these sessions.
"""

import asyncio
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

import asyncpg
import numpy as np

from purser.budget.postgres.connections.pools import Connection, Pool, connected
from purser.budget.postgres.connections.queries import load
from purser.budget.scopes import Path
from purser.context.conversation.messages import Message
from purser.context.postgres.memory.index import MemoryIndex
from purser.context.postgres.memory.vectors import Key, MemoryVectors
from purser.context.postgres.sessions.payers import Payers
from purser.context.retrieval import Embedder, Found, Outcome, Results, Via
from purser.context.retrieval.fusion import fuse
from purser.context.retrieval.postings import BLOCK
from purser.context.retrieval.ranking import Hit, Posted, Question, Thread, rank

_SQL = load("purser.context.postgres.memory", "memory.sql")
PATIENCE_S = 10.0
"""Seconds that a search first indexes new messages; after that, it reports how many are missing."""
MOST_POSTINGS = 100_000
"""Postings that one search reads; beyond that, common terms are left out."""
INLINE_TURNS = 50_000
"""Turns, counted once for each posted term, that are ranked in the event loop, which takes about two milliseconds."""
MOST_CHARACTERS = 4_000
"""Characters of a query that are used."""
END = 2**53 - 1
"""Greater than every sequence number."""
DEPTH = 50
"""Results of words and of vectors each that are fused, or the limit of the search if that is more."""


def ignore_outcome(outcome: Outcome) -> None:
    """Discards the outcome of a search."""


class Memory:
    """Searches user and assistant messages; each search is limited to one tenant, and to one session or user."""

    def __init__(
        self, pool: Pool, embedder: Embedder | None = None, on_outcome: Callable[[Outcome], None] = ignore_outcome
    ) -> None:
        """Args:
        pool: from `purser.budget.postgres.connections.pools.create_pool`.
        embedder: adds vector search; `None` for search by words alone.
        on_outcome: receives the outcome of each search.
        """
        self._pool = pool
        self._index = MemoryIndex(pool)
        self._payers = Payers(pool)
        self._vectors = None if embedder is None else MemoryVectors(pool, embedder)
        self._on_outcome = on_outcome

    @property
    def asks_a_model(self) -> bool:
        """Whether a search calls an embedder."""
        return self._vectors is not None

    async def search(
        self,
        tenant: str,
        session_id: str,
        query: str,
        *,
        limit: int,
        exclude_seqs: Collection[int] = (),
        user_id: str | None = None,
        path: Path | None = None,
    ) -> Results:
        """Finds messages that match a query.

        Args:
            tenant, session_id: the session to search.
            query: the search text, such as the newest user message.
            limit: maximum number of messages.
            exclude_seqs: messages of the session to leave out: the current one, and those that the window shows.
            user_id: also searches all other sessions of this user. A session of another user is not searched.
            path: budget path that pays for the embedder; `None` for that of the session, its user and its tenant.

        Returns:
            Messages in time order; fewer than `limit` if fewer match.
        """
        query = query[:MOST_CHARACTERS].strip()
        if not query or limit < 1:
            return Results()
        sessions, pending = await self._sessions(tenant, session_id, user_id)
        if not sessions:
            return Results()
        depth = limit if self._vectors is None else max(limit, DEPTH)
        without = session_id, exclude_seqs
        if self._vectors is None:
            self._on_outcome(Outcome.WORDS)
            async with connected(self._pool, None) as own:
                scores = await self._by_words(tenant, sessions, query, without=without, limit=depth, connection=own)
                found = await self.read(tenant, scores, dict.fromkeys(scores, Via.LEXICAL), connection=own)
            return Results(found, pending)
        pays = path or await self._payers.of_session(tenant, session_id)
        scores, (nearest, outcome) = await asyncio.gather(
            self._by_words(tenant, sessions, query, without=without, limit=depth),
            self._vectors.nearest(tenant, sessions, query, path=pays, without=without, limit=depth),
        )
        self._on_outcome(outcome)
        via = dict.fromkeys(scores, Via.LEXICAL)
        via |= {key: Via.BOTH if key in scores else Via.VECTOR for key in nearest}
        best = list(fuse(list(scores), nearest).items())[:limit]
        return Results(await self.read(tenant, dict(best), via), pending)

    async def read(
        self,
        tenant: str,
        scores: Mapping[Key, float],
        via: Mapping[Key, Via],
        *,
        connection: Connection | None = None,
    ) -> list[Found]:
        """Reads the results of an earlier search by key, in time order, without messages deleted since."""
        columns = [session_id for session_id, _ in scores], [seq for _, seq in scores]
        async with connected(self._pool, connection) as own:
            rows = await own.fetch(_SQL["read"], tenant, *columns)
        return [_found(row, scores[_key(row)], via[_key(row)]) for row in rows]

    async def _sessions(self, tenant: str, session_id: str, user_id: str | None) -> tuple[list[str], int]:
        """Sessions that the search may read, and how many of their messages are still not indexed."""
        until = time.monotonic() + PATIENCE_S
        rows = await self._behind(tenant, session_id, user_id)
        late = [row["session_id"] for row in rows if row["behind"]]
        done = [await self._index.catch_up(tenant, one, seconds=until - time.monotonic()) for one in late]
        pending = 0 if all(done) else sum(row["behind"] for row in await self._behind(tenant, session_id, user_id))
        return [row["session_id"] for row in rows], pending

    async def _behind(self, tenant: str, session_id: str, user_id: str | None) -> list[asyncpg.Record]:
        async with connected(self._pool, None) as connection:
            return await connection.fetch(_SQL["sessions"], tenant, session_id, user_id)

    async def _by_words(
        self,
        tenant: str,
        sessions: Sequence[str],
        query: str,
        *,
        without: tuple[str, Collection[int]],
        limit: int,
        connection: Connection | None = None,
    ) -> dict[Key, float]:
        """Scores of the messages that match best by words, best first."""
        question = Question.of(query)
        if not question.wanted:
            return {}
        session_id, seqs = without
        before = min(seqs, default=END)
        async with connected(self._pool, connection) as own:
            rows = await own.fetch(_SQL["words"], tenant, sessions, session_id, before, question.wanted, MOST_POSTINGS)
        threads = [row for row in rows if row["term"] is None]
        held = [row for row in rows if row["term"] is not None]
        ranked = partial(_ranked, question, threads, held, seqs, limit)
        is_short = len(held) * sum(len(row["flags"]) for row in threads) <= INLINE_TURNS
        hits = ranked() if is_short else await asyncio.to_thread(ranked)
        blocks, within = [hit.place // BLOCK for hit in hits], [hit.place % BLOCK for hit in hits]
        of = [_thread(threads[hit.thread]) for hit in hits]
        columns = [session for session, _ in of], [thread for _, thread in of], blocks, within
        async with connected(self._pool, connection) as own:
            found = await own.fetch(_SQL["seqs"], tenant, *columns)
        return {(row["session_id"], int.from_bytes(row["seq"], "little")): hits[row["rank"] - 1].score for row in found}


def _ranked(
    question: Question,
    threads: Sequence[asyncpg.Record],
    held: Sequence[asyncpg.Record],
    exclude: Collection[int],
    limit: int,
) -> list[Hit]:
    """The best turns; the messages `exclude` are those of the threads whose sequence numbers were read."""
    number = {_thread(row): at for at, row in enumerate(threads)}
    without = []
    for at, row in enumerate(threads):
        if row["seqs"]:
            seqs = np.frombuffer(row["seqs"], "<i8")
            # The numbers of the last blocks: places count from the end of the thread.
            places = np.flatnonzero(np.isin(seqs, list(exclude))) + len(row["flags"]) - len(seqs)
            without += [(at, place) for place in places.tolist()]
    return rank(
        question,
        [Thread(row["flags"], row["terms"], row["size"], row["user_size"], row["tool_messages"]) for row in threads],
        [Posted(number[_thread(row)], row["term"], row["postings"]) for row in held],
        without=without,
        limit=limit,
    )


def _key(row: asyncpg.Record) -> Key:
    return row["session_id"], row["seq"]


def _thread(row: asyncpg.Record) -> tuple[str, str]:
    return row["session_id"], row["thread"]


def _found(row: asyncpg.Record, score: float, via: Via) -> Found:
    message = Message.stored(row["body"])
    return Found(
        session_id=row["session_id"],
        seq=row["seq"],
        thread=row["thread"],
        role=message.role,
        name=message.name,
        text=message.text,
        created_at=row["created_at"],
        score=score,
        via=via,
    )
