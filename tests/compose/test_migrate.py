"""Migrations: repeatable, safe to run concurrently, and up to a given revision."""

import asyncio
from importlib.resources import files
from pathlib import Path

import asyncpg
import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory

from purser.compose.errors import SchemaMismatch, Unreachable
from purser.compose.migrate import current, head, migrate, require_schema, revisions
from purser.compose.migrations import upgrading
from tests.support.databases import dump

SCHEMA = {
    "purser.budget.postgres": (
        "scopes",
        "windows",
        "tables",
        "journal",
        "closings",
        "changes",
        "events",
        "limits/warnings",
        "limits/templates",
        "limits/policies",
        "calls/posting",
        "limits/expansion",
        "limits/rolling",
        "limits/shadow",
        "limits/rollover",
        "calls/gate",
        "calls/attempts",
        "calls/settling",
        "calls/closing",
        "calls/steps",
        "limits/grants",
        "calls/batches",
        "reports/checkpoints",
        "reports/retention",
        "reports/audit_result",
        "reports/reports",
        "reports/budgets",
        "statistics",
        "views",
    ),
    "purser.context.postgres": (
        "conversation",
        "pins",
        "excerpts",
        "summaries",
        "facts",
        "memory",
        "settings",
        "redaction",
        "calibration",
        "events",
        "views",
    ),
    "purser.activities.postgres": ("tasks", "pacing", "events"),
    "purser.gateway.postgres": ("access", "webhooks", "answers"),
}
"""Files of each package's `schema/`, in dependency order."""


async def test_an_empty_database_is_brought_to_the_head(empty_dsn: str) -> None:
    assert await current(empty_dsn) is None
    assert await migrate(empty_dsn) == head()
    assert await current(empty_dsn) == head()


async def test_migrating_again_changes_nothing(empty_dsn: str) -> None:
    await migrate(empty_dsn)
    before = dump(empty_dsn, "--schema-only")
    await migrate(empty_dsn)
    assert dump(empty_dsn, "--schema-only") == before


def test_revisions_are_those_that_alembic_finds() -> None:
    config = Config()
    config.set_main_option("script_location", "purser.compose:migrations")
    found = [script.revision for script in ScriptDirectory.from_config(config).walk_revisions()]
    assert list(revisions()) == found[::-1]


async def test_several_processes_may_migrate_at_once(empty_dsn: str) -> None:
    assert await asyncio.gather(*(migrate(empty_dsn) for _ in range(6))) == [head()] * 6


async def test_every_revision_can_be_stopped_at_and_gone_on_from(empty_dsn: str) -> None:
    for revision in revisions():
        assert await migrate(empty_dsn, revision) == revision
        assert await current(empty_dsn) == revision
    assert await current(empty_dsn) == head()


async def test_the_revisions_lead_to_the_schema_as_it_is(empty_dsn: str, dsn: str) -> None:
    connection = await asyncpg.connect(empty_dsn)
    for package, names in SCHEMA.items():
        present = Path(str(files(package).joinpath("schema")))
        assert {present / f"{name}.sql" for name in names} == set(present.rglob("*.sql")), package
        for name in names:
            await connection.execute(present.joinpath(f"{name}.sql").read_text("utf-8"))
    await connection.close()
    assert dump(empty_dsn, "--schema-only") == dump(dsn, "--schema-only", "--exclude-table=alembic_version")


@pytest.mark.parametrize("blocking", ["select from policies", "lock table alembic_version in share mode"])
async def test_a_migration_that_waits_for_a_long_transaction_lets_others_read_and_says_for_which(
    empty_dsn: str, blocking: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(upgrading, "LOCK_WAIT_MS", 50)
    monkeypatch.setattr(upgrading, "AGAIN_AFTER_S", 0.05)
    await migrate(empty_dsn, "0006_further_corrections")
    reader, audit = [await asyncpg.connect(empty_dsn) for _ in range(2)]
    async with asyncio.timeout(30):
        async with audit.transaction():
            await audit.execute(blocking)
            migrating = asyncio.create_task(migrate(empty_dsn))
            while f"pid {audit.get_server_pid()}" not in caplog.text:
                await asyncio.sleep(0.01)
            await reader.execute("select from policies")
            assert not migrating.done()
        assert await migrating == head()
    for connection in (reader, audit):
        await connection.close()


async def test_a_revision_that_fails_leaves_nothing_behind(empty_dsn: str) -> None:
    connection = await asyncpg.connect(empty_dsn)
    await connection.execute("CREATE TABLE keys (in_the_way int)")
    with pytest.raises(Exception, match="keys"):
        await migrate(empty_dsn)
    assert await current(empty_dsn) is None
    assert await connection.fetchval("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == 1
    await connection.close()


async def test_an_older_schema_is_refused_with_the_remedy(empty_dsn: str) -> None:
    for revision in (None, revisions()[0]):
        if revision:
            await migrate(empty_dsn, revision)
        with pytest.raises(SchemaMismatch) as refused:
            await require_schema(empty_dsn)
        assert "purser migrate" in refused.value.remedy


async def test_a_revision_that_this_code_does_not_know_is_left_and_accepted(dsn: str) -> None:
    connection = await asyncpg.connect(dsn)
    await connection.execute("UPDATE alembic_version SET version_num = '9999_next_release'")
    await connection.close()
    await require_schema(dsn)
    assert await migrate(dsn) == "9999_next_release"


async def test_a_database_that_does_not_answer_is_named_without_its_password() -> None:
    with pytest.raises(Unreachable) as away:
        await current("postgresql://u:s3cr3t@127.0.0.1:1/nowhere")
    assert "PURSER_DSN" in away.value.remedy
    assert "s3cr3t" not in str(away.value)
