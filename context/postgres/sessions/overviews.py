"""Sessions as pages show them: found among many, and how their conversations grew."""

from dataclasses import dataclass
from datetime import date, datetime
from itertools import accumulate

from purser.budget.postgres.connections.pools import Pool, connected
from purser.budget.postgres.connections.queries import load
from purser.context.postgres.conversation.counts import encoding_of

_SQL = load("purser.context.postgres.sessions", "overviews.sql")
MOST_POINTS = 400
"""Points of a curve."""
MOST_THREADS = 500


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session in a list."""

    session_id: str
    user_id: str | None
    messages: int
    created_at: datetime
    active_on: date
    """Day of the last append."""
    summaries: int
    saved_tokens: int
    """What its compressions took out of windows."""
    pins: int
    """That hold now."""


@dataclass(frozen=True, slots=True)
class Thread:
    """One conversation of a session."""

    thread: str
    """Empty for the session's own conversation, else `{task_id}/{agent_id}`."""
    messages: int
    tokens: int
    last_seq: int


@dataclass(frozen=True, slots=True)
class GrowthPoint:
    """How much was stored when a message was."""

    seq: int
    at: datetime
    messages: int
    """So far."""
    tokens: int
    """So far."""


class Overviews:
    """Overviews of all tenants' sessions."""

    def __init__(self, pool: Pool) -> None:
        """Args:
        pool: from `purser.budget.postgres.connections.pools.create_pool`.
        """
        self._pool = pool

    async def page(
        self, tenant: str, *, search: str = "", before: tuple[datetime, str] | None = None, limit: int = 50
    ) -> list[SessionRow]:
        """Sessions, newest first.

        Args:
            tenant: whose sessions.
            search: only those with this in their id or their user's.
            before: only those after this `created_at` and `session_id` of a list.
            limit: at most this many.
        """
        at, session_id = before or (None, None)
        async with connected(self._pool, None) as own:
            rows = await own.fetch(_SQL["list"], tenant, search.strip().lower() or None, at, session_id, limit)
        return [SessionRow(**dict(row)) for row in rows]

    async def threads(self, tenant: str, session_id: str, *, model: str) -> list[Thread]:
        """The conversations of a session, its own first, up to `MOST_THREADS`, counted for `model`."""
        async with connected(self._pool, None) as own:
            rows = await own.fetch(_SQL["threads"], tenant, session_id, encoding_of(model), MOST_THREADS)
        return [Thread(**dict(row)) for row in rows]

    async def growth(self, tenant: str, session_id: str, thread: str = "", *, model: str) -> list[GrowthPoint]:
        """How a conversation grew, in at most `MOST_POINTS` points; messages that were never counted for `model` add
        nothing."""
        async with connected(self._pool, None) as own:
            rows = await own.fetch(_SQL["growth"], tenant, session_id, thread, encoding_of(model), MOST_POINTS)
        messages = accumulate(row["messages"] for row in rows)
        tokens = accumulate(row["tokens"] for row in rows)
        return [
            GrowthPoint(row["seq"], row["at"], *sums)
            for row, sums in zip(rows, zip(messages, tokens, strict=True), strict=True)
        ]

    async def newest(
        self, tenant: str, session_id: str, thread: str, *, before: int | None = None, limit: int = 25
    ) -> int | None:
        """Number of the first of the newest messages of a conversation; `None` if there are none.

        Args:
            tenant, session_id, thread: which conversation.
            before: only messages before this one.
            limit: how many.
        """
        async with connected(self._pool, None) as own:
            found: int | None = await own.fetchval(_SQL["newest"], tenant, session_id, thread, before, limit)
        return found
