"""Budget paths of calls: completes a path with its tenant and the user of its session."""

import time
from collections import OrderedDict
from collections.abc import Callable

from purser.budget.errors import InvalidScope
from purser.budget.postgres.connections.pools import Pool, connected
from purser.budget.postgres.connections.queries import load
from purser.budget.scopes import Kind, Path, Scope, payers

_SQL = load("purser.context.postgres.sessions", "sessions.sql")
REMEMBERED = 10_000
"""Maximum number of cached sessions."""
_UNOWNED_S = 1.0
"""Seconds for which a session without a user is cached; `Payers.forget` ends it at once in its own process."""


class Payers:
    """Completes the paths of all tenants. The user of a session never changes once it is set."""

    def __init__(self, pool: Pool, clock: Callable[[], float] = time.monotonic) -> None:
        """Args:
        pool: from `purser.budget.postgres.connections.pools.create_pool`.
        clock: returns seconds; tests pass their own.
        """
        self._pool = pool
        self._clock = clock
        self._users: OrderedDict[tuple[str, str], tuple[str | None, float]] = OrderedDict()
        self._owned = 0
        """Number of times that a session may have got its user."""

    async def complete(self, tenant: str, path: Path) -> Path:
        """Places the path below its tenant and, unless it names a user, below the user of its session.

        Raises:
            InvalidScope: the path names another tenant, whose budget would replace that of this one.
            LedgerUnavailable: the database cannot be reached.
        """
        if path.id_of(Kind.TENANT) not in ("", tenant):
            raise InvalidScope(
                f"scope {str(path.scopes[0])!r} is another tenant: leave it out, or name tenant:{tenant}"
            )
        user_id = path.id_of(Kind.USER)
        if not user_id and (session_id := path.id_of(Kind.SESSION)):
            user_id = await self._user(tenant, session_id) or ""
        return path.below(*payers(tenant, user_id))

    def forget(self, tenant: str, session_id: str) -> None:
        """Forgets that a session had no user, once it may have got one: the next call of this process reads it."""
        self._owned += 1
        self._users.pop((tenant, session_id), None)

    async def of_session(self, tenant: str, session_id: str) -> Path:
        """The path of work on a session outside of tasks."""
        return await self.complete(tenant, Path((Scope(Kind.SESSION, session_id),)))

    async def _user(self, tenant: str, session_id: str) -> str | None:
        key, now = (tenant, session_id), self._clock()
        user_id, until = self._users.get(key, (None, now))
        if user_id is None and until <= now:
            async with connected(self._pool, None) as own:
                owned = self._owned
                user_id = await own.fetchval(_SQL["user"], tenant, session_id)
            # The session may have got its user since it was read.
            if user_id is not None or owned == self._owned:
                self._users[key] = user_id, now + _UNOWNED_S
            if len(self._users) > REMEMBERED:
                self._users.popitem(last=False)
        return user_id
