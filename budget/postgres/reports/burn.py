"""Burn rates: balances are sampled in the background, never by a call, and forecasts are computed from the samples."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import groupby

from purser.budget.gate import Amount
from purser.budget.policies.fields import Mode
from purser.budget.postgres.connections.pools import Connection, Pool, affected, connected, fetch, row
from purser.budget.postgres.connections.queries import load
from purser.budget.postgres.ledger.policies import Policies
from purser.budget.reports.forecast import DAY, Forecast, Point, forecast
from purser.budget.reports.views import BudgetView
from purser.budget.scopes import Kind, Scope
from purser.budget.windows import rolling_key

_SQL = load("purser.budget.postgres.reports", "burn.sql")
SAMPLE_EVERY_S = 60.0
"""Seconds between calls of `Burn.sample`."""
SPACING = timedelta(minutes=5)
"""Minimum time between two samples of one balance."""
KEEP = DAY + timedelta(hours=1)
BATCH = 20_000
LIFETIME = datetime.min.replace(tzinfo=UTC)
"""How the driver represents the start of a lifetime, `-infinity`."""
_LOCK = 0x6275726E


@dataclass(frozen=True, slots=True)
class Exhausting:
    """Number of scopes of one kind and mode that are exhausted soon at their current rate."""

    kind: Kind
    mode: Mode
    within_hour: int
    within_day: int
    """Includes those within an hour."""


class Burn:
    """Burn rates of all tenants."""

    def __init__(self, pool: Pool, policies: Policies) -> None:
        """Args:
        pool: from `purser.budget.postgres.connections.pools.create_pool`.
        policies: policies in the same database.
        """
        self._pool = pool
        self._policies = policies

    async def sample(self) -> int:
        """Samples balances that have changed and deletes samples that are no longer needed; returns the rows written.

        Any number of processes may call this at the same time: one does the work, the others return.
        """
        written = last = await self._step()
        while last >= BATCH:
            last = await self._step()
            written += last
        return written

    async def forecasts(self, tenant: str, scopes: Sequence[Scope]) -> dict[Scope, Forecast]:
        """Computes the forecasts of scopes in their current windows. An unused scope has too short a history."""
        return await self.of(tenant, await self._policies.budgets_of(tenant, scopes))

    async def of(self, tenant: str, budgets: Sequence[BudgetView]) -> dict[Scope, Forecast]:
        """Computes the forecasts of budgets that were just read."""
        async with connected(self._pool, None) as own:
            histories = await _histories(own, tenant, budgets, self._policies.now)
        return {budget.scope: _forecast(budget, histories.get(str(budget.scope), [])) for budget in budgets}

    async def exhausting(self, timeout_s: float | None = None) -> list[Exhausting]:
        """Counts scopes of all tenants that are exhausted within an hour and a day, in one statement, for metrics.

        Counts scopes with headroom left, by the same rule as `forecasts`; a scope that was never sampled does not
        count, nor does one whose policy is in shadow. Omits kinds and modes without such scopes. Costs about 40 µs of
        database time for each limited scope used within the last day, and next to nothing for the others.

        Args:
            timeout_s: seconds to wait; `None`: as long as for any statement of the pool.
        """
        async with connected(self._pool, None) as own:
            defaults = self._policies.settings.defaults_json
            found = await own.fetch(_SQL["exhausting"], defaults, self._policies.now, timeout=timeout_s)
        return [Exhausting(Kind(kind), Mode(mode), hour, day) for kind, mode, hour, day in found]

    async def soon(self, tenant: str, within: timedelta, kind: Kind | None, text: str, size: int) -> list[Scope]:
        """Lists scopes of a tenant that are exhausted within a time, the soonest first, by the rule of `exhausting`.

        Args:
            tenant: tenant of the scopes.
            within: time from now, at most a day.
            kind: only scopes of this kind.
            text: only scopes whose id contains this.
            size: most scopes to return.
        """
        defaults, now = self._policies.settings.defaults_json, self._policies.now
        found = await fetch(self._pool, _SQL["soon"], tenant, within, kind, text, size, defaults, now)
        return [Scope(Kind(kind_found), scope_id) for kind_found, scope_id in found]

    async def _step(self) -> int:
        async with connected(self._pool, None) as own, own.transaction():
            if not await own.fetchval(_SQL["lock"], _LOCK):
                return 0
            last, now = row(await own.fetchrow(_SQL["last_sampling"], self._policies.now))
            written = affected(await own.execute(_SQL["sample"], now, last, SPACING, BATCH))
            if written < BATCH:
                await own.execute(_SQL["set_last_sampling"], now)
                await own.execute(_SQL["prune"], now - KEEP, BATCH)
            return written


async def _histories(
    own: Connection, tenant: str, budgets: Sequence[BudgetView], now: datetime | None
) -> dict[str, list[Point]]:
    """What budgets had spent at several points in time by scope, oldest first; the last is now."""
    spent = {str(budget.scope): budget.spent for budget in budgets}
    names = [str(budget.scope) for budget in budgets]
    starts = [budget.window_start or rolling_key(budget.policy.window) or LIFETIME for budget in budgets]
    found = await own.fetch(_SQL["points"], tenant, names, starts, now)
    histories: dict[str, list[Point]] = {}
    for scope, rows in groupby(found, lambda one: one["scope"]):
        points = [Point(one["at"], Amount(one["spent_tokens"], one["spent_nano"])) for one in rows]
        histories[scope] = [*points, Point(found[0]["now"], spent[scope])]
    return histories


def _forecast(budget: BudgetView, history: Sequence[Point]) -> Forecast:
    found = forecast(history, budget.headroom_tokens, budget.headroom_nano_usd, budget.window_end)
    return replace(found, exhausts_at=None) if budget.policy.frozen else found
