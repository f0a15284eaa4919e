"""Browsing scopes: as a tree, by name, and over time."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import asyncpg

from purser.budget.gate import Amount
from purser.budget.postgres.connections.pools import Pool, connected
from purser.budget.postgres.connections.queries import load
from purser.budget.scopes import Kind, Scope

_SQL = load("purser.budget.postgres.reports", "scope_tree.sql")
PLACE_BATCH = 50_000


@dataclass(frozen=True, slots=True)
class Node:
    """A scope in the tree."""

    scope: Scope
    has_children: bool


@dataclass(frozen=True, slots=True)
class Moment:
    """A balance after one of its entries."""

    at: datetime
    spent: Amount
    held: Amount
    granted: Amount
    limit_tokens: int | None
    limit_nano_usd: int | None


class ScopeTree:
    """The hierarchy of the scopes of all tenants, derived from the paths of holds."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def place(self, tenant: str) -> None:
        """Stores the parents of scopes that are new since the last call."""
        async with connected(self._pool, None) as own:
            await own.execute(_SQL["place"], tenant, PLACE_BATCH)

    async def children(self, tenant: str, parent: Scope | None, limit: int) -> Sequence[Node]:
        """At most `limit` scopes directly under `parent`, or at the top: outer kinds first, then the newest."""
        async with connected(self._pool, None) as own:
            named = (None, None) if parent is None else (str(parent.kind), parent.id)
            return _nodes(await own.fetch(_SQL["children"], tenant, *named, limit))

    async def find(self, tenant: str, text: str, kind: Kind | None, limit: int) -> Sequence[Node]:
        """At most `limit` scopes whose id contains `text`, ignoring case."""
        async with connected(self._pool, None) as own:
            return _nodes(await own.fetch(_SQL["find"], tenant, kind and str(kind), text, limit))

    async def history(self, tenant: str, scope: Scope, points: int = 200) -> Sequence[Moment]:
        """The balance of a scope over its latest window, in about `points` points, oldest first."""
        async with connected(self._pool, None) as own:
            rows = await own.fetch(_SQL["history"], tenant, str(scope.kind), scope.id, points)
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
