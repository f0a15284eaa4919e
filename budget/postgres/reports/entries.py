"""Entries of the ledger, to read: newest first, in pages."""

from collections.abc import AsyncIterator
from datetime import datetime

import asyncpg

from purser.budget.policies import Mode
from purser.budget.postgres.connections.pools import Pool, connected
from purser.budget.postgres.connections.queries import load
from purser.budget.reports.entries import Entry, EntryKind, EntryPage, figures
from purser.budget.scopes import Scope

_SQL = load("purser.budget.postgres.reports", "entries.sql")
CHUNK = 1_000
"""Entries in hand while all of a range are read."""


class Entries:
    """The entries of all tenants."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def list(
        self, tenant: str, *, scope: Scope | None = None, kind: EntryKind | None = None, hold_id: str | None = None,
        task: str | None = None, since: datetime | None = None, until: datetime | None = None,
        cursor: str | None = None, limit: int = 100,
    ) -> EntryPage:  # fmt: skip
        """Entries, newest first.

        Args:
            tenant: whose entries.
            scope: only of this scope.
            kind: only of this kind.
            hold_id: only of this hold, on all its scopes.
            task: only of holds of this task, on all their scopes.
            since: from this time on.
            until: before this time.
            cursor: where the last page ended.
            limit: at most this many.
        """
        number = None if hold_id is None else _number(hold_id)
        arguments = (
            tenant, scope and str(scope), kind and str(kind), number, task, since, until,
            None if cursor is None else int(cursor), limit,
        )  # fmt: skip
        async with connected(self._pool, None) as own, own.transaction(readonly=True):
            await own.execute(_SQL["plans"])
            rows = await own.fetch(_SQL["list"], *arguments)
        more = str(rows[-1]["entry_id"]) if len(rows) == limit else None
        return EntryPage(tuple(map(_entry, rows)), more)

    async def all(
        self, tenant: str, *, scope: Scope | None = None, kind: EntryKind | None = None, hold_id: str | None = None,
        task: str | None = None, since: datetime | None = None, until: datetime | None = None,
        cursor: str | None = None,
    ) -> AsyncIterator[EntryPage]:  # fmt: skip
        """Every entry that `list` would give, page by page. No connection is kept between two pages.

        What is written meanwhile is newer than the first page and left out.
        """
        while True:
            page = await self.list(
                tenant, scope=scope, kind=kind, hold_id=hold_id, task=task, since=since, until=until,
                cursor=cursor, limit=CHUNK,
            )  # fmt: skip
            yield page
            if page.cursor is None:
                return
            cursor = page.cursor


def _number(hold_id: str) -> int:
    """Of a hold; an id that is none belongs to no hold."""
    return int(hold_id) if hold_id.isascii() and hold_id.isdigit() and len(hold_id) <= 18 else -1


def _entry(row: asyncpg.Record) -> Entry:
    return Entry(
        entry_id=row["entry_id"],
        at=row["at"],
        scope=Scope.stored(row["scope"]),
        window_start=row["began"],
        seq=row["seq"],
        kind=EntryKind(row["kind"]),
        hold_id=None if row["hold_id"] is None else str(row["hold_id"]),
        attempt=row["attempt"],
        ref=row["ref"],
        moved=figures(dict(row), "d_"),
        after=figures(dict(row)),
        limit_tokens=row["limit_tokens"],
        limit_nano_usd=row["limit_nano"],
        mode=Mode(row["mode"]),
        key=row["key"],
        path=tuple(row["path"] or ()),
        task_id=row["task"] or None,
        model=row["model"],
    )
