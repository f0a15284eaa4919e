"""Reads ledger entries, newest first, in pages."""

from collections.abc import AsyncIterator
from datetime import datetime

import asyncpg

from purser.budget.policies.fields import Mode
from purser.budget.postgres.connections.pools import Pool, connected, fetchval
from purser.budget.postgres.connections.queries import load
from purser.budget.reports.entries import Entry, EntryKind, EntryPage, figures
from purser.budget.scopes import Scope
from purser.budget.texts import number_of
from purser.budget.windows import rolling_window

_SQL = load("purser.budget.postgres.reports", "entries.sql")
CHUNK = 1_000
"""Entries per page while a whole range is read."""


class Entries:
    """Ledger entries of all tenants."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def list(
        self, tenant: str, *, scope: Scope | None = None, kind: EntryKind | None = None, hold_id: str | None = None,
        task: str | None = None, since: datetime | None = None, until: datetime | None = None,
        cursor: str | None = None, limit: int = 100,
    ) -> EntryPage:  # fmt: skip
        """Lists entries, newest first.

        Args:
            tenant: tenant of the entries.
            scope: only entries of this scope.
            kind: only entries of this kind.
            hold_id: only entries of this hold, on all its scopes.
            task: only entries of holds of this task, on all their scopes.
            since: only entries at or after this time.
            until: only entries before this time.
            cursor: cursor of the previous page.
            limit: most entries to return.
        """
        # No hold has the number 0.
        number = None if hold_id is None else number_of(hold_id) or 0
        arguments = (
            tenant, scope and str(scope), kind and str(kind), number, task, since, until,
            None if cursor is None else int(cursor), limit,
        )  # fmt: skip
        async with connected(self._pool, None) as own, own.transaction(readonly=True):
            await own.execute(_SQL["plans"])
            rows = await own.fetch(_SQL["list"], *arguments)
        more = str(rows[-1]["entry_id"]) if len(rows) == limit else None
        return EntryPage(tuple(map(_entry, rows)), more)

    async def deleted_until(self) -> datetime | None:
        """The time of the latest event that retention has deleted; what came later is complete. `None`: all is."""
        found: datetime | None = await fetchval(self._pool, _SQL["deleted_until"])
        return found

    async def all(
        self, tenant: str, *, scope: Scope | None = None, kind: EntryKind | None = None, hold_id: str | None = None,
        task: str | None = None, since: datetime | None = None, until: datetime | None = None,
        cursor: str | None = None,
    ) -> AsyncIterator[EntryPage]:  # fmt: skip
        """Yields all entries that `list` would return, page by page. No connection is in use between two pages.

        Entries written meanwhile are newer than the first page and are not included.
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


def _entry(row: asyncpg.Record) -> Entry:
    return Entry(
        entry_id=row["entry_id"],
        at=row["at"],
        scope=Scope.stored(row["scope"]),
        window_start=row["began"],
        rolling=None if row["length"] is None else rolling_window(row["length"]),
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
