"""Stored policies, and budgets resolved from them."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from decimal import Decimal
from typing import Any

import asyncpg

from purser.budget.actors import Actor
from purser.budget.errors import InvalidPolicy
from purser.budget.gate import Amount
from purser.budget.policies import Policy, PolicyPatch, resolve
from purser.budget.postgres.connections.pools import Connection, Pool, connected, retrying, row
from purser.budget.postgres.connections.queries import load
from purser.budget.postgres.ledger.settings import LedgerSettings
from purser.budget.postgres.reports.changes import record
from purser.budget.reports.views import BudgetView
from purser.budget.scopes import Kind, Scope
from purser.budget.windows import Window

_SQL = load("purser.budget.postgres.ledger", "policies.sql")
_FIELDS = tuple(item.name for item in fields(PolicyPatch))


class Policies:
    """Policies and budgets of all tenants."""

    def __init__(self, pool: Pool, settings: LedgerSettings, *, now: datetime | None = None) -> None:
        self._pool = pool
        self._settings = settings
        self.now = now

    @property
    def settings(self) -> LedgerSettings:
        """The settings passed at creation."""
        return self._settings

    async def set(
        self, tenant: str, scope: Scope, patch: PolicyPatch, *, clear: Sequence[str] = (), by: Actor,
        task_id: str = "", sources: Mapping[str, str] | None = None, connection: Connection | None = None,
    ) -> None:  # fmt: skip
        """Stores the fields of `patch` and clears those named in `clear`; effective from the next hold.

        Args:
            tenant, scope: the scope of the policy.
            patch: fields to store; fields that are `None` stay unchanged.
            clear: names of fields to leave to the next source.
            by: actor, for the change log.
            task_id: the task, if these are the fields that one task requests; empty for the stored policy.
            sources: for a task's request, the fields that came from its preset.
            connection: joins its transaction.

        Raises:
            InvalidPolicy: Postgres does not know the time zone.
        """

        async def step() -> None:
            async with connected(self._pool, connection) as own, own.transaction():
                before = None if task_id else await self._lock(own, tenant, scope)
                await own.execute(
                    _SQL["set_policy"], tenant, str(scope), task_id, patch.to_json(), list(clear), dict(sources or {}),
                    by.name, self._settings.defaults_json, self.now,
                )  # fmt: skip
                after = None if task_id else await own.fetchval(_SQL["stored"], tenant, str(scope.kind), scope.id)
                if after != before:
                    await record(own, tenant, "policy.set", str(scope), by=by, before=before, after=after)

        try:
            await (step() if connection is not None else retrying(step))
        except asyncpg.InvalidParameterValueError as error:
            raise InvalidPolicy(f"timezone {patch.timezone!r} is not valid: Postgres does not know it") from error

    async def _lock(self, own: Connection, tenant: str, scope: Scope) -> Mapping[str, Any] | None:
        """Locks the scope and returns its stored fields, which cannot change until the transaction ends."""
        named = (tenant, str(scope.kind), scope.id)
        await own.execute(_SQL["lock_scope"], *named)
        fields: Mapping[str, Any] | None = await own.fetchval(_SQL["stored"], *named)
        return fields

    async def budget(self, tenant: str, scope: Scope) -> BudgetView:
        """Reads one scope's budget; an unused scope has its default policy and zeros."""
        return (await self.budgets_of(tenant, [scope]))[0]

    async def budgets_of(self, tenant: str, scopes: Sequence[Scope], task_id: str | None = None) -> list[BudgetView]:
        """Reads the budgets of `scopes`, in their order, as they apply to `task_id` if it is given."""
        rows = await self._rows(tenant, names=[str(scope) for scope in scopes], task_id=task_id, limit=len(scopes))
        found = {view.scope: view for view in map(self._view, rows)}
        return [found.get(scope) or await self._unused(scope) for scope in scopes]

    async def budgets(
        self, tenant: str, *, over: Decimal | None = None, kind: Kind | None = None, after: int = 0, limit: int = 100
    ) -> tuple[list[BudgetView], int | None]:
        """Reads budgets with a ratio of at least `over`, and the cursor of the next page."""
        rows = await self._rows(tenant, over=over, kind=kind, after=after, limit=limit)
        return [self._view(row) for row in rows], rows[-1]["scope_id"] if len(rows) == limit else None

    async def _rows(
        self, tenant: str, *, names: list[str] | None = None, over: Decimal | None = None, kind: Kind | None = None,
        after: int = 0, limit: int, task_id: str | None = None,
    ) -> list[asyncpg.Record]:  # fmt: skip
        async with connected(self._pool, None) as own:
            return await own.fetch(
                _SQL["budgets"],
                tenant,
                names,
                kind and str(kind),
                over,
                after,
                limit,
                self._settings.defaults_json,
                self.now,
                task_id,
            )

    def _view(self, one: asyncpg.Record) -> BudgetView:
        scope = Scope.stored(one["scope"])
        stored, request = _patch(one["stored"]), _patch(one["request"])
        resolved = resolve(stored, request, self._default(scope.kind), self._sources(scope.kind))
        named = (one["request"] or {}).get("sources", {})
        sources = {
            name: named.get(name, source) if source == "request" else source
            for name, source in resolved.sources.items()
        }
        return BudgetView(
            scope, resolved.policy, sources, one["window_start"], one["window_end"],
            *(Amount(one[f"{name}_tokens"], one[f"{name}_nano"]) for name in ("spent", "held", "granted", "overrun")),
        )  # fmt: skip

    async def _unused(self, scope: Scope) -> BudgetView:
        policy, nothing = self._default(scope.kind), Amount()
        start = end = None
        if policy.window is not Window.LIFETIME:
            async with connected(self._pool, None) as own:
                start, end = row(await own.fetchrow(_SQL["window"], policy.window, policy.timezone, self.now))
        return BudgetView(scope, policy, self._sources(scope.kind), start, end, nothing, nothing, nothing, nothing)

    def _default(self, kind: Kind) -> Policy:
        return self._settings.defaults[kind]

    def _sources(self, kind: Kind) -> dict[str, str]:
        return {name: self._settings.sources.get(f"{kind}.{name}", "default") for name in _FIELDS}


def _patch(row: Mapping[str, Any] | None) -> PolicyPatch | None:
    if row is None:
        return None
    return PolicyPatch.parse({name: row[name] for name in _FIELDS})
