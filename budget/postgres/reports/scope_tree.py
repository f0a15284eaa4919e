"""Scopes as people look for them: as a tree, by name, and over time."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import asyncpg

from purser.budget.decisions import Amount
from purser.budget.postgres.connections.pools import Pool, connected
from purser.budget.postgres.connections.queries import load
from purser.budget.scopes import Kind, Scope

_SQL = load("purser.budget.postgres.reports", "scope_tree.sql")
PLACED_AT_ONCE = 50_000


@dataclass(frozen=True, slots=True)
class Node:
    """One scope of the tree."""

    scope: Scope
    has_children: bool


@dataclass(frozen=True, slots=True)
class Moment:
    """A balance right after one of its entries."""

    at: datetime
    spent: Amount
    held: Amount
    granted: Amount
    limit_tokens: int | None
    limit_nano_usd: int | None


class ScopeTree:
    """The scopes of all tenants: which was seen under which."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def place(self, tenant: str) -> None:
        """Finds the place of scopes that came up since the last time."""
        async with connected(self._pool, None) as own:
            await own.execute(_SQL["place"], tenant, PLACED_AT_ONCE)

    async def children(self, tenant: str, parent: Scope | None, limit: int) -> Sequence[Node]:
        """Scopes seen directly under `parent`, or under none: outer kinds first, then the newest; at most `limit`."""
        async with connected(self._pool, None) as own:
            named = (None, None) if parent is None else (str(parent.kind), parent.id)
            return _nodes(await own.fetch(_SQL["children"], tenant, *named, limit))

    async def find(self, tenant: str, text: str, kind: Kind | None, limit: int) -> Sequence[Node]:
        """Scopes whose id contains `text`, in any case of letters."""
        async with connected(self._pool, None) as own:
            return _nodes(await own.fetch(_SQL["find"], tenant, kind and str(kind), text, limit))

    async def course(self, tenant: str, scope: Scope, points: int = 200) -> Sequence[Moment]:
        """How the balance of a scope went in its latest window, in about so many points, oldest first."""
        async with connected(self._pool, None) as own:
            rows = await own.fetch(_SQL["course"], tenant, str(scope.kind), scope.id, points)
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
