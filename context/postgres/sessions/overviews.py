"""Read models of sessions for pages: lists, threads and growth of conversations."""

from dataclasses import dataclass
from datetime import date, datetime
from itertools import accumulate

from purser.budget.postgres.connections.pools import Pool, connected, fetch, fetchval
from purser.budget.postgres.connections.queries import load
from purser.context.postgres.conversation.counts import encoding_of

_SQL = load("purser.context.postgres.sessions", "overviews.sql")
MOST_POINTS = 400
"""Maximum points of a growth curve."""
MOST_THREADS = 500


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session as listed."""

    session_id: str
    user_id: str | None
    messages: int
    created_at: datetime
    active_on: date
    """Day of the last append."""
    summaries: int
    saved_tokens: int
    """Tokens that its compressions removed from windows."""
    pins: int
    """Number of live pins."""


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
    """Cumulative size of a conversation when a message was stored."""

    seq: int
    at: datetime
    messages: int
    """Messages up to here."""
    tokens: int
    """Tokens up to here."""


class Overviews:
    """Reads overviews of the sessions of all tenants."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def page(
        self,
        tenant: str,
        *,
        search: str = "",
        user_id: str | None = None,
        before: tuple[datetime, str] | None = None,
        limit: int = 50,
    ) -> list[SessionRow]:
        """Lists sessions, newest first.

        Args:
            tenant: owner of the sessions.
            search: only sessions whose id or user id contains this text.
            user_id: only sessions of this user.
            before: only sessions that follow this `created_at` and `session_id` in the list.
            limit: maximum number of sessions.
        """
        at, session_id = before or (None, None)
        text = search.strip().lower() or None
        async with connected(self._pool, None) as own, own.transaction(readonly=True):
            await own.execute(_SQL["plans"])
            rows = await own.fetch(_SQL["list"], tenant, text, at, session_id, limit, user_id)
        return [SessionRow(**dict(row)) for row in rows]

    async def threads(self, tenant: str, session_id: str, *, model: str) -> list[Thread]:
        """Lists up to `MOST_THREADS` threads of a session, its own conversation first, with tokens for `model`."""
        rows = await fetch(self._pool, _SQL["threads"], tenant, session_id, encoding_of(model), MOST_THREADS)
        return [Thread(**dict(row)) for row in rows]

    async def growth(self, tenant: str, session_id: str, thread: str = "", *, model: str) -> list[GrowthPoint]:
        """Growth of a conversation in at most `MOST_POINTS` points; messages not counted for `model` add no tokens."""
        rows = await fetch(self._pool, _SQL["growth"], tenant, session_id, thread, encoding_of(model), MOST_POINTS)
        messages = accumulate(row["messages"] for row in rows)
        tokens = accumulate(row["tokens"] for row in rows)
        return [GrowthPoint(row["seq"], row["at"], *sums) for row, *sums in zip(rows, messages, tokens, strict=True)]

    async def newest(
        self, tenant: str, session_id: str, thread: str, *, before: int | None = None, limit: int = 25
    ) -> int | None:
        """Sequence number at which the newest messages of a conversation begin; `None` if there are none.

        Args:
            tenant, session_id, thread: the conversation.
            before: only messages before this one.
            limit: number of newest messages.
        """
        found: int | None = await fetchval(self._pool, _SQL["newest"], tenant, session_id, thread, before, limit)
        return found
