"""Who pays for a call: a path is completed with its tenant and with the user whose session it names."""

import time
from collections import OrderedDict
from collections.abc import Callable

from purser.budget.postgres.connections.pools import Pool, connected
from purser.budget.postgres.connections.queries import load
from purser.budget.scopes import Kind, Path, Scope, payers

_SQL = load("purser.context.postgres.sessions", "sessions.sql")
REMEMBERED = 10_000
"""Sessions in memory at most."""
_UNOWNED_S = 1.0
"""How long a session without a user is taken to have none."""


class Payers:
    """Completes the paths of all tenants. The user of a session never changes once one is known."""

    def __init__(self, pool: Pool, clock: Callable[[], float] = time.monotonic) -> None:
        """Args:
        pool: from `purser.budget.postgres.connections.pools.create_pool`.
        clock: seconds; tests bring their own.
        """
        self._pool = pool
        self._clock = clock
        self._users: OrderedDict[tuple[str, str], tuple[str | None, float]] = OrderedDict()

    async def complete(self, tenant: str, path: Path) -> Path:
        """The path below its tenant and, unless it names a user itself, below the user of its session.

        Raises:
            LedgerUnavailable
        """
        user_id = path.id_of(Kind.USER)
        if not user_id and (session_id := path.id_of(Kind.SESSION)):
            user_id = await self._user(tenant, session_id) or ""
        return path.below(*payers(tenant, user_id))

    async def of_session(self, tenant: str, session_id: str) -> Path:
        """The path of work on a session that no task does."""
        return await self.complete(tenant, Path((Scope(Kind.SESSION, session_id),)))

    async def _user(self, tenant: str, session_id: str) -> str | None:
        key, now = (tenant, session_id), self._clock()
        user_id, until = self._users.get(key, (None, now))
        if user_id is None and until <= now:
            async with connected(self._pool, None) as own:
                user_id = await own.fetchval(_SQL["user"], tenant, session_id)
            self._users[key] = user_id, now + _UNOWNED_S
            if len(self._users) > REMEMBERED:
                self._users.popitem(last=False)
        return user_id
