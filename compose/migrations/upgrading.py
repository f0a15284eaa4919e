"""Schema upgrades with Alembic, through the same driver as all other queries."""

from uuid import uuid4

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import NullPool

from purser.compose.database import connect

# Any constant that no other program uses in the same database.
MIGRATION_LOCK = 0x70757273


async def upgrade(dsn: str, revision: str, known: tuple[str, ...]) -> str | None:
    """Upgrade a database and return its revision; a database at a revision that is not `known` is left unchanged.

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
    # asyncpg parses the DSN itself, so socket, ssl and search_path options mean the same as everywhere else.
    return create_async_engine(
        "postgresql+asyncpg://",
        async_creator=lambda *_, **__: connect(dsn),
        poolclass=NullPool,
        # Behind a pooler, statements of another client may still be prepared under the default names.
        connect_args={"prepared_statement_name_func": lambda: f"purser-{uuid4()}"},
    )
