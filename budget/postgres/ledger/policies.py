"""Stored policies, and budgets resolved from them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Any

import asyncpg

from purser.budget.actors import Actor
from purser.budget.errors import InvalidPolicy
from purser.budget.gate import OUTCOMES, Amount
from purser.budget.policies.policy import POLICY_FIELDS, PolicyPatch, Resolved, resolve
from purser.budget.policies.templates import Pattern
from purser.budget.postgres.changes import record_each
from purser.budget.postgres.connections.pools import Connection, Pool, connected, fetch, fetchval, retrying, row
from purser.budget.postgres.connections.queries import load
from purser.budget.postgres.connections.time_zones import known_zones
from purser.budget.postgres.ledger.settings import LedgerSettings
from purser.budget.reports.views import BudgetView
from purser.budget.scopes import Kind, Scope
from purser.budget.windows import Window

_SQL = load("purser.budget.postgres.ledger", "policies.sql")


class Policies:
    """Policies and budgets of all tenants."""

    def __init__(self, pool: Pool, settings: LedgerSettings, *, now: datetime | None = None) -> None:
        self._pool = pool
        self.settings = settings
        self.now = now

    async def set(
        self, tenant: str, scope: Scope, patch: PolicyPatch, *, clear: Sequence[str] = (), by: Actor,
        task_id: str = "", connection: Connection | None = None,
    ) -> None:  # fmt: skip
        """Stores the fields of `patch` and clears those named in `clear`; effective from the next hold.

        Args:
            tenant, scope: the scope of the policy.
            patch: fields to store; fields that are `None` stay unchanged.
            clear: names of fields to leave to the next source.
            by: actor, for the change log.
            task_id: the task, if these are the fields that one task requests; empty for the stored policy.
            connection: joins its transaction.

        Raises:
            InvalidPolicy: Postgres does not know the time zone, or a field does not apply to the scope.
        """

        async def step() -> None:
            async with connected(self._pool, connection) as own, own.transaction():
                await self.set_many(tenant, [(scope, patch, {})], clear=clear, by=by, task_id=task_id, connection=own)

        await (step() if connection is not None else retrying(step))

    async def set_many(
        self, tenant: str, policies: Sequence[tuple[Scope, PolicyPatch, Mapping[str, str]]], *,
        clear: Sequence[str] = (), by: Actor, task_id: str = "", connection: Connection,
    ) -> None:  # fmt: skip
        """Stores the fields of each patch, as `set` does.

        Args:
            tenant: tenant of the policies.
            policies: different scopes, each with the fields to store and the sources of those in a task's request that
                came from its preset.
            clear: names of fields that are left to the next source where a patch does not set them.
            by: actor, for the change log.
            task_id: as of `set`.
            connection: joins its transaction.

        Raises:
            InvalidPolicy: Postgres does not know a time zone, or a field does not apply to its scope.
        """
        for scope, patch, _ in policies:
            patch.check_kind(scope.kind)
            _check_window(str(scope), scope.period, patch)
        with known_zones():
            found = await connection.fetch(
                _SQL["set_policies"],
                tenant,
                [str(scope) for scope, _, _ in policies],
                task_id,
                [patch.to_json() for _, patch, _ in policies],
                list(clear),
                [dict(sources) for _, _, sources in policies],
                by.name,
                self.settings.defaults_json,
                self.now,
            )
        changed = [tuple(one) for one in found if one["after"] != one["before"]]
        await record_each(connection, tenant, "policy.set", changed, by=by)

    async def set_template(
        self, tenant: str, pattern: Pattern, patch: PolicyPatch | None, *, by: Actor, connection: Connection
    ) -> None:
        """Stores the fields of a template in place of its earlier ones, or removes it; effective from the next hold.

        Args:
            tenant, pattern: the template.
            patch: its fields; `None` removes it.
            by: actor, for the ledger.
            connection: joins its transaction, which holds the lock of the tenant's templates.

        Raises:
            InvalidPolicy: Postgres does not know the time zone, or a field does not apply to the scopes.
        """
        _check_window(str(pattern), pattern.period, patch)
        fields = None if patch is None else patch.check_kind(pattern.kind).to_json()
        with known_zones():
            await connection.execute(
                _SQL["set_template"], tenant, str(pattern), fields, by.name, self.settings.defaults_json, self.now
            )

    async def budget(self, tenant: str, scope: Scope) -> BudgetView:
        """Reads one scope's budget; an unused scope has its default policy and zeros."""
        return (await self.budgets_of(tenant, [scope]))[0]

    async def budgets_of(self, tenant: str, scopes: Sequence[Scope], task_id: str | None = None) -> list[BudgetView]:
        """Reads the budgets of `scopes`, in their order, as they apply to `task_id` if it is given."""
        if not scopes:
            return []
        rows = await self._rows(tenant, names=[str(scope) for scope in scopes], task_id=task_id, limit=len(scopes))
        found = {view.scope: view for view in map(self._view, rows)}
        if unused := [scope for scope in scopes if scope not in found]:
            found |= await self._unused(tenant, unused)
        return [found[scope] for scope in scopes]

    async def further(self, tenant: str, scope: Scope) -> list[BudgetView]:
        """Reads the further limits of a scope, each with a period of its own; none for a further limit itself."""
        if scope.period:
            return []
        names = [row["name"] for row in await fetch(self._pool, _SQL["further"], tenant, str(scope))]
        return await self.budgets_of(tenant, [Scope.stored(name) for name in names])

    async def have_ladders(self, tenant: str) -> bool:
        """Whether a policy of a tenant has a ladder. If none has, no ask has to be undone to take a step."""
        found: bool = await fetchval(self._pool, _SQL["have_ladders"], tenant)
        return found

    async def room_returns(
        self, tenant: str, scope: Scope, ask: Amount, task_id: str = "", connection: Connection | None = None,
        *, window_start: datetime | None = None,
    ) -> datetime | None:  # fmt: skip
        """When an ask that does not fit a scope fits by itself: its window ends, or enough rolls off; `None`: never.

        `window_start` is that of the window that was asked, if it may be an earlier one than the current.
        """
        async with connected(self._pool, connection) as own:
            at: datetime | None = await own.fetchval(
                _SQL["room_returns"], tenant, str(scope.kind), scope.id, task_id, ask.tokens, ask.nano_usd,
                self.settings.defaults_json, self.now, window_start,
            )  # fmt: skip
        return at

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
        defaults = self.settings.defaults_json
        given = (tenant, names, kind and str(kind), over, after, limit, defaults, self.now, task_id)
        return await fetch(self._pool, _SQL["budgets"], *given)

    def _view(self, one: asyncpg.Record) -> BudgetView:
        scope = Scope.stored(one["scope"])
        template = one["template"]
        resolved = self._resolved(scope, one["stored"], one["request"], template, template and template["sources"])
        named = (one["request"] or {}).get("sources", {})
        sources = {
            name: named.get(name, source) if source == "request" else source
            for name, source in resolved.sources.items()
        }
        spent, held, granted, overrun = (
            Amount(one[f"{name}_tokens"], one[f"{name}_nano"]) for name in ("spent", "held", "granted", "overrun")
        )
        would = dict.fromkeys(OUTCOMES, 0) | (one["would"] or {})
        return BudgetView(
            scope, resolved.policy, sources, one["window_start"], one["window_end"], spent, held, granted, overrun,
            would,
        )  # fmt: skip

    async def _unused(self, tenant: str, scopes: Sequence[Scope]) -> dict[Scope, BudgetView]:
        nothing = Amount()
        views = {}
        async with connected(self._pool, None) as own:
            kinds, ids = [str(scope.kind) for scope in scopes], [scope.id for scope in scopes]
            found = await own.fetch(_SQL["templates_of"], tenant, kinds, ids)
            for scope, of_templates in zip(scopes, found, strict=True):
                resolved = self._resolved(scope, None, None, of_templates["template"], of_templates["sources"])
                policy = resolved.policy
                start = end = None
                if policy.window != Window.LIFETIME:
                    start, end = row(await own.fetchrow(_SQL["window"], policy.window, policy.timezone, self.now))
                views[scope] = BudgetView(
                    scope, policy, resolved.sources, start, end, nothing, nothing, nothing, nothing
                )
        return views

    def _resolved(
        self, scope: Scope, stored: Mapping[str, Any] | None, request: Mapping[str, Any] | None,
        template: Mapping[str, Any] | None, patterns: Mapping[str, str] | None,
    ) -> Resolved:  # fmt: skip
        default, known = self.settings.defaults[scope.kind], self.settings.sources
        sources = {name: known.get(f"{scope.kind}.{name}", "default") for name in POLICY_FIELDS}
        if scope.period:
            default = replace(default, limit_tokens=None, limit_nano_usd=None, window=scope.period)
            sources |= {"window": "scope", "limit_tokens": "default", "limit_nano_usd": "default"}
        return resolve(
            _patch(stored), _patch(request), default, sources,
            template=_patch(template), patterns=patterns or {},
        )  # fmt: skip


def _patch(row: Mapping[str, Any] | None) -> PolicyPatch | None:
    if row is None:
        return None
    return PolicyPatch.parse({name: row.get(name) for name in POLICY_FIELDS})


def _check_window(name: str, period: str | None, patch: PolicyPatch | None) -> None:
    if period and patch and patch.window is not None:
        raise InvalidPolicy(f"the window of {name} is {period}: leave out window")
