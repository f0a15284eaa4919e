"""The proxy breaks connections exactly where a trap says, so that crash tests prove what they claim."""

import asyncpg
import pytest

from tests.support.servers.postgres_proxy import Trap, When, postgres_proxy


async def nothing() -> None:
    pass


async def rows(dsn: str) -> int:
    connection = await asyncpg.connect(dsn)
    try:
        return int(await connection.fetchval("select count(*) from struck"))
    finally:
        await connection.close()


@pytest.mark.parametrize(("when", "written"), [(When.BEFORE, 0), (When.AFTER, 1)])
async def test_a_struck_statement_never_ran_or_ran_unheard(dsn: str, when: When, written: int) -> None:
    async with postgres_proxy(dsn) as proxy:
        connection = await asyncpg.connect(proxy.dsn)
        await connection.execute("create table struck (n int)")
        trap = proxy.set(Trap("insert into struck", when, nothing))
        with pytest.raises((asyncpg.PostgresConnectionError, asyncpg.InterfaceError, ConnectionError)):
            await connection.execute("insert into struck values ($1)", 1)
        assert trap.sprung.is_set()
        assert await rows(dsn) == written


@pytest.mark.parametrize(("when", "written"), [(When.BEFORE, 0), (When.AFTER, 1)])
async def test_a_struck_commit_is_that_of_the_named_statement(dsn: str, when: When, written: int) -> None:
    async with postgres_proxy(dsn) as proxy:
        connection = await asyncpg.connect(proxy.dsn)
        await connection.execute("create table struck (n int)")
        proxy.set(Trap("insert into struck", when, nothing, commit=True))
        async with connection.transaction():
            await connection.fetch("select 1 as other")
        with pytest.raises((asyncpg.PostgresConnectionError, asyncpg.InterfaceError, ConnectionError)):
            async with connection.transaction():
                await connection.execute("insert into struck values ($1)", 1)
        assert await rows(dsn) == written
