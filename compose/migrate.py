"""Bring a database to the schema of this code: forward only, repeatable, safe to run from several processes at once.

Revisions only add, so code of the previous release goes on working on a newer schema while a rollout is under way.
"""

from uuid import uuid4

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import NullPool

from purser.compose.database import connect, connected
from purser.compose.errors import SchemaMismatch

# Any constant will do, it only has to differ from those of other programs in the same database.
MIGRATION_LOCK = 0x70757273


def revisions() -> tuple[str, ...]:
    """All revisions of this code, oldest first."""
    return tuple(script.revision for script in ScriptDirectory.from_config(_config()).walk_revisions())[::-1]


def head() -> str:
    """The revision that this code expects."""
    return revisions()[-1]


async def current(dsn: str) -> str | None:
    """The revision of a database, None if it was never migrated.

    Raises:
        Unreachable: Postgres does not answer.
    """
    async with connected(dsn) as connection:
        if await connection.fetchval("SELECT to_regclass('alembic_version')") is None:
            return None
        found: str | None = await connection.fetchval("SELECT version_num FROM alembic_version")
        return found


async def require_schema(dsn: str) -> None:
    """Check that a database has at least the schema of this code.

    Raises:
        SchemaMismatch: it has an older one, or none.
        Unreachable: Postgres does not answer.
    """
    found = await current(dsn)
    if found is None or found in revisions()[:-1]:
        raise SchemaMismatch(
            f"the database is at revision {found!r}, this code needs {head()!r}", remedy="Run `purser migrate`."
        )


async def migrate(dsn: str, revision: str = "head") -> str | None:
    """Upgrade a database and return its revision.

    All steps are one transaction under an advisory lock: others wait, then find nothing to do. A database that newer
    code has migrated already is left as it is.

    Raises:
        Unreachable: Postgres does not answer.
    """

    def upgrade(connection: Connection) -> str | None:
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": MIGRATION_LOCK})
        found = _revision_of(connection)
        if found is None or found in revisions():
            config = _config()
            config.attributes["connection"] = connection
            command.upgrade(config, revision)
        return _revision_of(connection)

    async with _engine(dsn).begin() as connection:
        return await connection.run_sync(upgrade)


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
