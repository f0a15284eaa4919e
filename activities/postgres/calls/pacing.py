"""The store of the pace of requests to providers, shared by all processes."""

from collections.abc import Sequence
from datetime import datetime

from purser.activities.pacing.pace import SLACK_S, Spacing
from purser.budget.postgres.connections.pools import Pool, execute, fetchval
from purser.budget.postgres.connections.queries import load

_SQL = load("purser.activities.postgres.calls", "pacing.sql")


class PacingStore:
    """When the next request under each limit is due."""

    def __init__(self, pool: Pool, *, now: datetime | None = None) -> None:
        """Args:
        pool: from `purser.budget.postgres.connections.pools.create_pool`.
        now: replaces the server's clock.
        """
        self._pool = pool
        self.now = now

    async def wait_s(
        self, spacings: Sequence[Spacing], tokens: int, most_s: float, call: tuple[str, str] | None = None
    ) -> float | None:
        """Gives a request its slot, in one statement; returns the seconds until then, 0 to send it now.

        Args:
            spacings: the limits that it counts against.
            tokens: what it may use.
            most_s: longest wait for which it gets a slot; beyond it the answer is `None`.
            call: tenant and key of the call, which keeps its slot until the request is sent; `None`: the caller waits.
        """
        ordered = sorted(spacings, key=lambda one: one.name)
        tenant, key = call or (None, None)
        wait: float | None = await fetchval(
            self._pool, _SQL["wait"],
            [one.name for one in ordered], [one.request_s for one in ordered],
            [one.request_burst_s for one in ordered], [one.token_s for one in ordered],
            [one.token_burst_s for one in ordered],
            tokens, SLACK_S, most_s, tenant, key, self.now,
        )  # fmt: skip
        return wait

    async def pause(self, name: str, seconds: float) -> None:
        """Lets no request under a limit be sent for a while."""
        await execute(self._pool, _SQL["pause"], name, seconds, self.now)
