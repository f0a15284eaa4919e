"""Memory search in Postgres, over an index of stored messages that catches up when it is searched.

A search covers one session, or those of one user: its first statement selects them, and reads what is indexed of them.
"""

import asyncio
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

import asyncpg
import numpy as np

from purser.budget.errors import LedgerUnavailable
from purser.budget.postgres.connections.pools import Pool, connected
from purser.budget.postgres.connections.queries import load
from purser.budget.scopes import Path
from purser.context.conversation.messages import Message, speaker_name
from purser.context.errors import SessionDeleted
from purser.context.postgres.conversation.conversations import END, origin_of_replies
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
COMPOUND_TURNS = 10_000
"""Turns up to which a word that none of them has is looked for in longer words: this reads all their terms."""
INLINE_TURNS = 50_000
"""Turns, counted once for each posted term, that are ranked in the event loop, which takes about two milliseconds."""
MOST_CHARACTERS = 4_000
"""Characters of a query that are used."""
DEPTH = 50
"""Results of words and of vectors each that are fused, or the limit of the search if that is more."""


def ignore_outcome(outcome: Outcome) -> None:
    """Discards the outcome of a search."""


class Memory:
    """Searches user and assistant messages; each search is limited to one tenant, and to one session or user."""

    def __init__(
        self,
        pool: Pool,
        embedder: Embedder | None = None,
        on_outcome: Callable[[Outcome], None] = ignore_outcome,
        payers: Payers | None = None,
    ) -> None:
        """Args:
        pool: from `purser.budget.postgres.connections.pools.create_pool`.
        embedder: adds vector search; `None` for search by words alone.
        on_outcome: receives the outcome of each search.
        payers: completes the paths of searches; `None` for one of its own.
        """
        self._pool = pool
        self._index = MemoryIndex(pool)
        self._payers = payers or Payers(pool)
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
            Messages in time order; fewer than `limit` if fewer match. A reply that its task published is found in the
            session's own conversation only.

        Raises:
            SessionDeleted: the session was deleted meanwhile.
        """
        query = query[:MOST_CHARACTERS].strip()
        if not query or limit < 1:
            return Results()
        question = Question.of(query, datetime.now(UTC))
        wanted = question.wanted, MOST_POSTINGS, origin_of_replies("%"), question.parts, COMPOUND_TURNS
        asked = user_id, min(exclude_seqs, default=END), *wanted
        indexed, pending = await self._caught_up(tenant, session_id, *asked)
        if not indexed.behind:
            return Results()
        if self._vectors is None:
            self._on_outcome(Outcome.WORDS)
            hits = await indexed.ranked(question, exclude_seqs, limit)
            rows = await self._rows(tenant, indexed, hits)
            return Results([_found(row, hits[row["rank"] - 1].score, Via.LEXICAL) for row in rows], pending)
        pays, depth = path or await self._payers.of_session(tenant, session_id), max(limit, DEPTH)
        without = {*indexed.published, *((session_id, seq) for seq in exclude_seqs)}
        hits, (nearest, outcome) = await asyncio.gather(
            indexed.ranked(question, exclude_seqs, depth),
            self._vectors.nearest(tenant, list(indexed.behind), query, path=pays, without=without, limit=depth),
        )
        self._on_outcome(outcome)
        by_words = [_key(row) for row in sorted(await self._rows(tenant, indexed, hits), key=lambda row: row["rank"])]
        via = dict.fromkeys(by_words, Via.LEXICAL)
        via |= {key: Via.BOTH if key in via else Via.VECTOR for key in nearest}
        best = list(fuse(by_words, nearest).items())[:limit]
        return Results(await self.read(tenant, dict(best), via), pending)

    async def read(self, tenant: str, scores: Mapping[Key, float], via: Mapping[Key, Via]) -> list[Found]:
        """Reads the results of an earlier search by key, in time order, without messages deleted since."""
        columns = [session_id for session_id, _ in scores], [seq for _, seq in scores]
        async with connected(self._pool, None) as own:
            rows = await own.fetch(_SQL["read"], tenant, *columns)
        return [_found(row, scores[_key(row)], via[_key(row)]) for row in rows]

    async def _caught_up(self, tenant: str, session_id: str, *asked: object) -> tuple["_Indexed", int]:
        """What is indexed of the asked sessions and terms, and how many messages are still not indexed.

        Indexes the session itself first, and those of its user while time remains.
        """
        until = time.monotonic() + PATIENCE_S
        found = await self._indexed(tenant, session_id, *asked)
        late = sorted((one for one, behind in found.behind.items() if behind), key=lambda one: one != session_id)
        if not late:
            return found, 0
        done = set[str]()
        for one in late:
            if one != late[0] and time.monotonic() >= until:
                break
            try:
                if await self._index.catch_up(tenant, one, seconds=until - time.monotonic()):
                    done.add(one)
            except SessionDeleted:
                if one == session_id:
                    raise
            except LedgerUnavailable:
                # What is indexed can be searched all the same, unless the next statement fails as well.
                continue
        found = await self._indexed(tenant, session_id, *asked)
        return found, sum(found.behind.get(one, 0) for one in late if one not in done)

    async def _indexed(self, *asked: object) -> "_Indexed":
        async with connected(self._pool, None) as own:
            return _Indexed.of(await own.fetch(_SQL["words"], *asked))

    async def _rows(self, tenant: str, indexed: "_Indexed", hits: Sequence[Hit]) -> list[asyncpg.Record]:
        """The messages of hits, in time order."""
        at = [_thread(indexed.threads[hit.thread]) for hit in hits]
        blocks, within = [hit.place // BLOCK for hit in hits], [hit.place % BLOCK for hit in hits]
        columns = [session for session, _ in at], [thread for _, thread in at], blocks, within
        async with connected(self._pool, None) as own:
            return await own.fetch(_SQL["found"], tenant, *columns)


@dataclass(frozen=True, slots=True)
class _Indexed:
    """What is indexed of the sessions that a search may read, and of the terms that it asks for."""

    behind: Mapping[str, int]
    """By how many messages the index of each session is behind."""
    threads: Sequence[asyncpg.Record]
    held: Sequence[asyncpg.Record]
    """Postings by term and thread."""

    @classmethod
    def of(cls, rows: Sequence[asyncpg.Record]) -> "_Indexed":
        sessions = [row for row in rows if row["term"] is None]
        return cls(
            {row["session_id"]: row["behind"] for row in sessions},
            [row for row in sessions if row["thread"] is not None],
            [row for row in rows if row["term"] is not None],
        )

    @property
    def published(self) -> list[Key]:
        """Replies that the session's own conversation repeats with the name of their agent."""
        return [(row["session_id"], row["published"]) for row in self.threads if row["published"] is not None]

    async def ranked(self, question: Question, exclude: Collection[int], limit: int) -> list[Hit]:
        """The turns that match best, best first."""
        ranked = partial(_ranked, question, self.threads, self.held, exclude, limit)
        is_short = len(self.held) * sum(len(row["flags"]) for row in self.threads) <= INLINE_TURNS
        return ranked() if is_short else await asyncio.to_thread(ranked)


def _ranked(
    question: Question,
    threads: Sequence[asyncpg.Record],
    held: Sequence[asyncpg.Record],
    exclude: Collection[int],
    limit: int,
) -> list[Hit]:
    """The best turns; the messages `exclude` are those of the threads whose sequence numbers were read."""
    number = {_thread(row): at for at, row in enumerate(threads)}
    without = [(at, len(row["flags"]) - 1) for at, row in enumerate(threads) if row["published"] is not None]
    for at, row in enumerate(threads):
        if row["seqs"]:
            seqs = np.frombuffer(row["seqs"], ">i8")
            shown = np.sort(np.fromiter(exclude, np.int64))
            places = np.searchsorted(seqs, shown)
            found = places[np.take(seqs, places, mode="clip") == shown]
            # The numbers of the last blocks: places count from the end of the thread.
            without += [(at, place) for place in (found + len(row["flags"]) - len(seqs)).tolist()]
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
        # In its own thread, an agent speaks without a name.
        name=message.name or speaker_name(row["thread"].rpartition("/")[-1]) or None,
        text=message.text,
        created_at=row["created_at"],
        score=score,
        via=via,
    )
