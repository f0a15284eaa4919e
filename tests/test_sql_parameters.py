"""The types of parameters: Postgres derives each from the first use, where a literal makes it a 32-bit integer."""

import re

import pytest

from purser.budget.postgres.connections.pools import Pool
from purser.budget.postgres.connections.queries import load
from tests.support.databases import WarmPools
from tests.test_sql import FILES

_BESIDE_A_LITERAL = re.compile(r"\$(\d+) ?(?:[-+*/]|[<>=]+) ?\d|(?:coalesce|greatest|least|nullif)\(\$(\d+), ?\d")
STATEMENTS = [
    pytest.param(text, id=f"{file}-{name}")
    for file in FILES
    if not {"schema", "migrations"} & set(file.parts)
    for name, text in load(".".join(("purser", *file.parent.parts)), file.name).items()
]


@pytest.fixture
async def pool(own_database: str, warm_pools: WarmPools) -> Pool:
    """Connections that know the catalog: a new one for each statement would take longer than the statement."""
    return await warm_pools.of(own_database)


async def narrowed(pool: Pool, statement: str) -> list[int]:
    """The parameters that are 32-bit integers beside a literal, without a cast that says so."""
    beside = {int(first or second) for first, second in _BESIDE_A_LITERAL.findall(statement)}
    async with pool.acquire() as connection:
        types = (await connection.prepare(statement)).get_parameters()
    return [number for number in sorted(beside) if types[number - 1].name == "int4"]


@pytest.mark.parametrize("statement", STATEMENTS)
async def test_no_literal_narrows_a_parameter(pool: Pool, statement: str) -> None:
    assert await narrowed(pool, statement) == []


@pytest.mark.parametrize(
    "statement",
    [
        "select 1 from grants where tenant = $1 and $2 > 0 and nano > $2",
        "select 1 from grants where tenant = $1 and coalesce($2, 0) < nano",
    ],
)
async def test_a_literal_that_does_is_noticed(pool: Pool, statement: str) -> None:
    assert await narrowed(pool, statement) == [2]
