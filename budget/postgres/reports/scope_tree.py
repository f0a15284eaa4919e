"""Browsing scopes: as a tree, by name, and over time."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import asyncpg

from purser.budget.gate import Amount
from purser.budget.policies.policy import PolicyPatch
from purser.budget.policies.templates import Pattern
from purser.budget.postgres.connections.pools import Pool, execute, fetch
from purser.budget.postgres.connections.queries import load
from purser.budget.postgres.ledger.policies import Policies
from purser.budget.scopes import Kind, Scope

_SQL = load("purser.budget.postgres.reports", "scope_tree.sql")
PLACE_BATCH = 50_000


@dataclass(frozen=True, slots=True)
class Node:
    """A scope in the tree."""

    scope: Scope
    has_children: bool
    has_ended: bool = False
    """Whether it belongs to a task that has ended; only known in a list by use."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A balance after one of its entries."""

    at: datetime
    spent: Amount
    held: Amount
    granted: Amount
    limit_tokens: int | None
    limit_nano_usd: int | None


@dataclass(frozen=True, slots=True)
class Template:
    """A stored template."""

    pattern: Pattern
    policy: PolicyPatch
    """The fields that it sets."""
    matches: int
    """Number of scopes that it matches."""


@dataclass(frozen=True, slots=True)
class Matches:
    """The scopes that a pattern matches."""

    count: int
    scopes: tuple[Scope, ...]
    """The newest of them."""


class ScopeTree:
    """The hierarchy of the scopes of all tenants, derived from the paths of holds."""

    def __init__(self, pool: Pool, policies: Policies) -> None:
        """Args:
        pool: from `purser.budget.postgres.connections.pools.create_pool`.
        policies: policies in the same database.
        """
        self._pool = pool
        self._policies = policies

    async def place(self, tenant: str) -> None:
        """Stores the parents of scopes that are new since the last call."""
        await execute(self._pool, _SQL["place"], tenant, PLACE_BATCH)

    async def children(self, tenant: str, parent: Scope | None, limit: int) -> Sequence[Node]:
        """At most `limit` scopes directly under `parent`, or at the top: outer kinds first, then the newest."""
        named = (None, None) if parent is None else (str(parent.kind), parent.id)
        return _nodes(await fetch(self._pool, _SQL["children"], tenant, *named, limit))

    async def find(self, tenant: str, text: str, kind: Kind | None, limit: int) -> Sequence[Node]:
        """At most `limit` scopes whose id contains `text`, ignoring case."""
        return _nodes(await fetch(self._pool, _SQL["find"], tenant, kind and str(kind), text, limit))

    async def most_used(
        self, tenant: str, text: str, kind: Kind | None, limit: int, *, running: bool = False
    ) -> Sequence[Node]:
        """Lists scopes by use: the highest share of a limit in the current window first, those of ended tasks last.

        Args:
            tenant: tenant of the scopes.
            text: only scopes whose id contains this, ignoring case.
            kind: only scopes of this kind.
            limit: most scopes to return.
            running: leaves out scopes of tasks that have ended.
        """
        defaults, now = self._policies.settings.defaults_json, self._policies.now
        rows = await fetch(
            self._pool, _SQL["most_used"], tenant, kind and str(kind), text, limit, running, defaults, now
        )
        return [Node(Scope.stored(row["scope"]), False, row["has_ended"]) for row in rows]

    async def templates(self, tenant: str) -> Sequence[Template]:
        """All templates, by pattern."""
        rows = await fetch(self._pool, _SQL["templates"], tenant)
        return [Template(Pattern(row["pattern"]), PolicyPatch.parse(row["fields"]), row["matches"]) for row in rows]

    async def matching(self, tenant: str, pattern: Pattern, limit: int) -> Matches:
        """The number of scopes that a pattern matches, and at most `limit` of them, the newest first."""
        rows = await fetch(self._pool, _SQL["matching"], tenant, str(pattern), limit)
        return Matches(rows[0]["count"] if rows else 0, tuple(Scope.stored(row["scope"]) for row in rows))

    async def history(self, tenant: str, scope: Scope, points: int = 200) -> Sequence[Moment]:
        """The balance of a scope over its latest window, in about `points` points, oldest first."""
        rows = await fetch(self._pool, _SQL["history"], tenant, str(scope.kind), scope.id, points)
        return [
            Moment(
                row["at"],
                Amount(row["spent_tokens"], row["spent_nano"]),
                Amount(row["held_tokens"], row["held_nano"]),
                Amount(row["granted_tokens"], row["granted_nano"]),
                row["limit_tokens"],
                row["limit_nano"],
            )
            for row in rows
        ]


def _nodes(rows: Sequence[asyncpg.Record]) -> list[Node]:
    return [Node(Scope.stored(row["scope"]), row["has_children"]) for row in rows]
