"""Schema upgrades with Alembic, through the same driver as all other queries."""

import asyncio
import logging
from uuid import uuid4

import asyncpg
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import NullPool

from purser.compose.database import connect, connected

# Not structlog's, which writes to stdout unless it is set up, and `purser migrate` does not.
_log = logging.getLogger(__name__)

# Any constant that no other program uses in the same database.
MIGRATION_LOCK = 0x70757273
LOCK_WAIT_MS = 2_000
"""Milliseconds to wait for a lock on a table: all others that need the table wait behind."""
AGAIN_AFTER_S = 5.0
"""Seconds between two tries, in which the others go on."""
_BLOCKING = """
select coalesce(string_agg(format('pid %s (%s)', pid, application_name), ', '), 'unknown')
from pg_stat_activity a
where datname = current_database() and pid <> pg_backend_pid()
  and coalesce(xact_start < clock_timestamp() - $1 * interval '1 ms', true)
  and exists (select from pg_locks l where l.pid = a.pid and l.locktype = 'relation' and l.granted)
"""
"""Transactions with locks on tables that began $1 ms ago or earlier, or when is not shown: those of other roles."""


async def upgrade(dsn: str, revision: str, known: tuple[str, ...]) -> str | None:
    """Upgrade a database and return its revision; a database at a revision that is not `known` is left unchanged.

    While another transaction, such as an audit, holds a table, all is rolled back and tried again, without limit.

    Raises:
        Unreachable: Postgres does not answer.
    """

    def steps(connection: Connection) -> str | None:
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": MIGRATION_LOCK})
        connection.execute(text(f"SET LOCAL lock_timeout = {LOCK_WAIT_MS}"))
        found = _revision_of(connection)
        if found is None or found in known:
            config = _config()
            config.attributes["connection"] = connection
            command.upgrade(config, revision)
        return _revision_of(connection)

    while True:
        try:
            async with _engine(dsn).begin() as connection:
                return await connection.run_sync(steps)
        except (asyncpg.LockNotAvailableError, DBAPIError) as error:
            driver = error.orig if isinstance(error, DBAPIError) else error
            if getattr(driver, "sqlstate", None) != asyncpg.LockNotAvailableError.sqlstate:
                raise
        async with connected(dsn) as looking:
            blocking = await looking.fetchval(_BLOCKING, LOCK_WAIT_MS)
        _log.warning("the migration waits for transactions that hold a lock on a table: %s; it tries again", blocking)
        await asyncio.sleep(AGAIN_AFTER_S)


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
