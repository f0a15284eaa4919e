"""A process asks Postgres about the arrays of built-in types once, not on each connection."""

from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from purser.budget.postgres.connections import array_types
from purser.budget.postgres.connections.pools import create_pool

DAY = datetime(2026, 5, 1, tzinfo=UTC)
ARRAYS = "select $1::int4[], $2::bigint[], $3::jsonb[], $4::bytea[], $5::timestamptz[], $6::interval[], $7::bool[]"
VALUES = ([1, None], [2**40], [{"a": [1]}], [b"\0"], [DAY], [timedelta(days=3)], [True])
OWN = "select $1::amount[], $2::int4[]"
AMOUNTS = ([(1, 2)], [3])


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[set[int]]:
    """The types that connections ask Postgres about."""
    asked: list[set[int]] = []
    asks = asyncpg.Connection._introspect_types  # type: ignore[attr-defined]

    async def spy(connection: asyncpg.Connection, typeoids: set[int], timeout: float) -> object:
        asked.append(set(typeoids))
        return await asks(connection, typeoids, timeout)

    monkeypatch.setattr(asyncpg.Connection, "_introspect_types", spy)
    monkeypatch.setattr(array_types, "_known", {})
    return asked


async def read_with_a_new_connection(dsn: str, query: str, values: tuple[object, ...]) -> tuple[object, ...]:
    async with await create_pool(dsn, size=1) as pool:
        row = await pool.fetchrow(query, *values)
        assert row is not None
        return tuple(row)


@pytest.mark.parametrize("suffix", ["", "&pgbouncer=true"])
async def test_a_second_connection_reads_arrays_without_asking(
    emptied_dsn: str, asked: list[set[int]], suffix: str
) -> None:
    first = await read_with_a_new_connection(emptied_dsn + suffix, ARRAYS, VALUES)
    assert len(asked) == 1
    assert await read_with_a_new_connection(emptied_dsn + suffix, ARRAYS, VALUES) == first == VALUES
    assert len(asked) == 1


async def test_types_of_the_schema_are_asked_about_on_each_connection(emptied_dsn: str, asked: list[set[int]]) -> None:
    """Another database has other identifiers for them."""
    for times in (1, 2):
        assert await read_with_a_new_connection(emptied_dsn, OWN, AMOUNTS) == AMOUNTS
        assert len(asked) == times
