"""A temporary Postgres for one benchmark."""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from purser.benchmarks.progress import log_step
from purser.compose.migrate import migrate
from purser.compose.stack.postgres import EmbeddedPostgres


@asynccontextmanager
async def temporary_postgres() -> AsyncIterator[str]:
    """The DSN of a migrated, empty database; the server and its data are removed afterwards."""
    base = Path(tempfile.mkdtemp(prefix="purser-bench-"))
    log_step(f"starting Postgres in {base}")
    postgres = EmbeddedPostgres(base / "postgres")
    try:
        dsn = await postgres.start()
        await migrate(dsn)
        yield dsn
    finally:
        await asyncio.to_thread(postgres.stop)
        shutil.rmtree(base)
