"""Upgrades by Alembic, through the driver that everything else uses."""

from uuid import uuid4

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import NullPool

from purser.compose.database import connect

# Any constant will do, it only has to differ from those of other programs in the same database.
MIGRATION_LOCK = 0x70757273


async def upgrade(dsn: str, revision: str, known: tuple[str, ...]) -> str | None:
    """Upgrades a database and returns its revision; one that is not `known` stays.

    Raises:
        Unreachable: Postgres does not answer.
    """

    def steps(connection: Connection) -> str | None:
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": MIGRATION_LOCK})
        found = _revision_of(connection)
        if found is None or found in known:
            config = _config()
            config.attributes["connection"] = connection
            command.upgrade(config, revision)
        return _revision_of(connection)

    async with _engine(dsn).begin() as connection:
        return await connection.run_sync(steps)


def _revision_of(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", "purser.compose:migrations")
    return config


def _engine(dsn: str) -> AsyncEngine:
    # asyncpg reads the DSN itself: sockets, ssl and search_path options mean the same here as everywhere else.
    return create_async_engine(
        "postgresql+asyncpg://",
        async_creator=lambda *_, **__: connect(dsn),
        poolclass=NullPool,
        # Behind a pooler another client's statements are still prepared under the usual names.
        connect_args={"prepared_statement_name_func": lambda: f"purser-{uuid4()}"},
    )
