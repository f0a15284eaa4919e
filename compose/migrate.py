"""Migrate a database to the schema of this code: forward only, repeatable, safe to run from several processes at once.

Revisions only add, so code of the previous release keeps working on a newer schema during a rollout.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from purser.budget.postgres.connections.pools import Pool, create_pool
from purser.compose.database import connected, database
from purser.compose.errors import SchemaMismatch
from purser.compose.settings import Settings

VERSIONS = Path(__file__).parent / "migrations" / "versions"
"""Folder with a file `r<revision>.py` for each revision."""
REVISION = "SELECT version_num FROM alembic_version"
"""Statement that reads the revision of a database; one that was never migrated has no such table."""


def revisions() -> tuple[str, ...]:
    """All revisions of this code, oldest first."""
    # Read from the file names: Alembic takes most of a second to load, and a database is rarely behind.
    return tuple(sorted(file.stem[1:] for file in VERSIONS.glob("r*.py")))


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
        found: str | None = await connection.fetchval(REVISION)
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


@asynccontextmanager
async def migrated_pool(settings: Settings) -> AsyncIterator[Pool]:
    """Yield a connection to the database of this code's schema, whether the stack is up or down.

    Raises:
        SchemaMismatch: the database has an older schema, or none.
    """
    async with database(settings) as dsn:
        await require_schema(dsn)
        async with await create_pool(dsn, size=1) as pool:
            yield pool


async def migrate(dsn: str, revision: str | None = None) -> str | None:
    """Upgrade a database and return its revision.

    All steps run in one transaction under an advisory lock: other processes wait, then find nothing to do. A database
    that newer code has already migrated is left unchanged.

    Args:
        dsn: DSN of the database.
        revision: last revision to apply; `None` means the newest.

    Raises:
        Unreachable: Postgres does not answer.
    """
    if revision is None and await current(dsn) == head():
        return head()
    from purser.compose.migrations.upgrading import upgrade

    return await upgrade(dsn, revision or head(), revisions())
