"""Bring a database to the schema of this code: forward only, repeatable, safe to run from several processes at once."""

import asyncpg
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import NullPool

# Any constant will do, it only has to differ from those of other programs in the same database.
MIGRATION_LOCK = 0x70757273


def head() -> str:
    """The revision that this code expects."""
    revision = ScriptDirectory.from_config(_config()).get_current_head()
    assert revision is not None
    return revision


async def current(dsn: str) -> str | None:
    """The revision of a database, None if it was never migrated."""
    async with _engine(dsn).connect() as connection:
        return await connection.run_sync(lambda c: MigrationContext.configure(c).get_current_revision())


async def migrate(dsn: str, revision: str = "head") -> str:
    """Upgrade a database and return its revision.

    All steps are one transaction under an advisory lock: others wait, then find nothing to do.
    """

    def upgrade(connection: Connection) -> None:
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": MIGRATION_LOCK})
        config = _config()
        config.attributes["connection"] = connection
        command.upgrade(config, revision)

    async with _engine(dsn).begin() as connection:
        await connection.run_sync(upgrade)
    return head() if revision == "head" else revision


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", "compose:migrations")
    return config


def _engine(dsn: str) -> AsyncEngine:
    # asyncpg reads the DSN itself: sockets, ssl and search_path options mean the same here as everywhere else.
    return create_async_engine(
        "postgresql+asyncpg://", async_creator=lambda *_, **__: asyncpg.connect(dsn), poolclass=NullPool
    )
