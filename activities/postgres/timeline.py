"""Reads the turns of a task page by page, since a task may have thousands."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import asyncpg

from purser.activities.tasks.timeline import Turn, timeline
from purser.activities.tasks.timeline_rows import Admission, AgentRow, ApprovalWait, Attempt, Compression, TimelineRows
from purser.budget.postgres.connections.pools import Connection, Pool, connected
from purser.budget.postgres.connections.queries import load

_SQL = load("purser.activities.postgres", "timeline.sql")
MOST_TURNS = 500


@dataclass(frozen=True, slots=True)
class TurnPage:
    """Some turns of a task, in the order in which they began."""

    turns: tuple[Turn, ...]
    before: datetime | None
    """Cursor of the page with older turns; `None`: there are none."""


class Timelines:
    """Timelines of all tenants' tasks."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def turns(
        self,
        tenant: str,
        task_id: str,
        *,
        ended_at: datetime | None = None,
        before: datetime | None = None,
        limit: int = 100,
    ) -> TurnPage:
        """Returns the newest turns, or those before `before`; none if the tenant has no such task.

        Args:
            tenant, task_id: the task.
            ended_at: end of the task; `None`: it is running.
            before: `TurnPage.before` of the previous page.
            limit: most turns to return, up to `MOST_TURNS`.
        """
        limit = min(limit, MOST_TURNS)
        async with connected(self._pool, None) as own, own.transaction(isolation="repeatable_read", readonly=True):
            calls = await own.fetch(_SQL["admissions"], tenant, task_id, before, limit)
            began = min((row["began"] for row in calls), default=None)
            more = len({(row["agent_id"], row["turn"]) for row in calls}) == limit
            # Whatever happened before the oldest turn of this page belongs to the next page.
            rows = await self._rows(own, tenant, task_id, calls, (began if more else None, before))
        return TurnPage(timeline(rows, ended_at), began if more else None)

    async def _rows(
        self,
        own: Connection,
        tenant: str,
        task_id: str,
        calls: list[asyncpg.Record],
        between: tuple[datetime | None, datetime | None],
    ) -> TimelineRows:
        holds = [row["hold_id"] for row in calls if row["hold_id"] is not None]
        keys = [row["key"] for row in calls]
        return TimelineRows(
            admissions=[Admission(**_without_began(row)) for row in calls],
            attempts=[Attempt(**dict(row)) for row in await own.fetch(_SQL["attempts"], tenant, holds)],
            approval_waits=[
                ApprovalWait(**dict(row)) for row in await own.fetch(_SQL["approval_waits"], tenant, task_id, keys)
            ],
            agents=[AgentRow(**dict(row)) for row in await own.fetch(_SQL["agents"], tenant, task_id)],
            compressions=[
                Compression(**dict(row))
                for row in await own.fetch(_SQL["compressions"], tenant, task_id, *between, MOST_TURNS)
            ],
        )


def _without_began(row: asyncpg.Record) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key != "began"}
