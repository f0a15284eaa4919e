"""Upgrades: the database that each release left is migrated, loses nothing, and works on."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from purser.activities.runtime.stores import Stores
from purser.budget.postgres.connections.pools import Pool, create_pool
from purser.compose.migrate import current, head, migrate, require_schema
from tests.support.databases import dump, fresh_database
from tests.support.ledger import TENANT, Books
from tests.support.runs.record_histories import DATABASES, SCENARIOS

CHANGELOG = Path(__file__).parents[2] / "CHANGELOG.md"
RELEASED = re.compile(r"^## \[(\d+\.\d+\.\d+)\] - \d{4}-\d{2}-\d{2}$", re.MULTILINE)
SAVED = sorted(DATABASES.glob("*.sql"))
SPENT = """
select s.kind || ':' || s.id as scope, sum(b.spent_tokens) as tokens, sum(b.spent_nano) as nano
from balances b join scopes s using (tenant, scope_id) where tenant = $1 group by 1 order by 1
"""


@pytest.fixture(params=SAVED, ids=lambda path: path.stem)
async def restored(request: pytest.FixtureRequest, postgres_server: str) -> AsyncIterator[str]:
    """DSN of a database as a release left it."""
    async with fresh_database(postgres_server, "template0") as dsn:
        connection = await asyncpg.connect(dsn)
        await connection.execute(request.param.read_text("utf-8"))
        await connection.close()
        yield dsn


@pytest.fixture
async def upgraded(restored: str) -> AsyncIterator[Pool]:
    """Connections to such a database after its migration."""
    await migrate(restored)
    async with await create_pool(restored) as pool:
        yield pool


def test_the_database_of_every_release_is_saved() -> None:
    assert [path.stem for path in SAVED] == sorted(RELEASED.findall(CHANGELOG.read_text("utf-8")))
    assert SAVED


async def test_the_revisions_up_to_it_are_unchanged(restored: str, empty_dsn: str) -> None:
    revision = await current(restored)
    assert await migrate(empty_dsn, revision) == revision
    assert dump(restored, "--schema-only") == dump(empty_dsn, "--schema-only")


async def test_it_is_brought_to_the_head_and_accepted(restored: str) -> None:
    assert await current(restored) is not None
    assert await migrate(restored) == head()
    await require_schema(restored)


async def test_its_balances_and_messages_are_as_before_and_the_audit_finds_no_difference(restored: str) -> None:
    before = await _kept(restored)
    assert len(before["spent"]) > len(SCENARIOS)
    await migrate(restored)
    assert await _kept(restored) == before
    async with await create_pool(restored) as pool:
        await Books.on(pool).check()


async def test_its_tasks_and_conversations_are_read(upgraded: Pool) -> None:
    stores = Stores(ledger=Books.on(upgraded).ledger, redaction=())
    tasks = (await stores.tasks.list(TENANT)).tasks
    assert len(tasks) == len(SCENARIOS)
    for task in tasks:
        shown = await stores.tasks.get(TENANT, task["task_id"])
        file = await stores.tasks.file(TENANT, task["task_id"])
        assert file is not None
        assert shown["agents"].keys() == {agent.id for agent in file.agents}
        assert await stores.sessions.conversations.page(TENANT, task["session_id"])


async def test_calls_of_its_sessions_are_held_and_settled(upgraded: Pool) -> None:
    books = Books.on(upgraded)
    sessions = [row["id"] for row in await upgraded.fetch("select id from scopes where kind = 'session'")]
    assert sessions
    for session in sessions:
        scope = f"session:{session}"
        before = (await books.balance(scope)).get("spent", 0)
        await books.budget(scope, mode="soft")
        await books.spend(f"after the upgrade {session}", 7, 0, scope)
        assert (await books.balance(scope))["spent"] == before + 7
    await books.check()


async def _kept(dsn: str) -> dict[str, Any]:
    """What each scope spent, and the number of rows by table."""
    connection = await asyncpg.connect(dsn)
    tables = ("journal", "holds", "messages", "summaries", "tasks", "approvals", "changes")
    rows = {table: await connection.fetchval(f"select count(*) from {table}") for table in tables}
    spent = [tuple(row) for row in await connection.fetch(SPENT, TENANT)]
    await connection.close()
    return {"rows": rows, "spent": spent}
