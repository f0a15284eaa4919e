"""Tenant isolation of the stores: every table in every part of every statement is bound to a tenant."""

import re
from pathlib import Path

import pytest

from purser.budget.postgres.connections.pools import Pool
from purser.budget.postgres.connections.queries import load
from purser.context import postgres

LOADED_WHOLE = ("schema", "migrations")
STORE = Path(postgres.__file__).parent
FILES = sorted(str(path.relative_to(STORE)) for path in STORE.rglob("*.sql") if path.parent.name not in LOADED_WHOLE)
ACROSS_TENANTS = {
    (
        "sessions/retention.sql",
        "due",
    ): "the sweeper finds old sessions of all tenants, and deletes each under its own",
    ("sessions/usage_statistics.sql", "usage_statistics"): "counts for the operator, no ids and no text",
}
_NOISE = re.compile(r"--[^\n]*|'(?:[^']|'')*'")
_INNERMOST = re.compile(r"\(([^()]*)\)")
_QUERY = re.compile(r"\s*(?:select|insert|update|delete|with)\b")
_BRANCH = re.compile(r"\bunion(?: all)?\b")
_TABLE = re.compile(
    r"\b(from|join|update|into)\s+(?:only\s+)?(\w+)(?:\s+(?:as\s+)?(?!set\b|where\b|on\b|using\b|join\b|left\b|cross\b|order\b|values\b|select\b|limit\b|for\b)(\w+))?"
)


def parts(statement: str) -> list[str]:
    """The queries of a statement, each without its subqueries."""
    text, found = _NOISE.sub("", statement.lower()), list[str]()
    while inner := _INNERMOST.search(text):
        if _QUERY.match(inner[1]):
            found += _BRANCH.split(inner[1])
            text = f"{text[: inner.start()]} {text[inner.end() :]}"
        else:
            # A list or a call: leave its columns readable.
            text = f"{text[: inner.start()]}[{inner[1]}]{text[inner.end() :]}"
    return [*found, *_BRANCH.split(text)]


def unbound(statement: str, tables: set[str]) -> list[str]:
    """Tables that a part of the statement touches without a condition on their tenant."""
    found = []
    for part in parts(statement):
        for verb, table, alias in _TABLE.findall(part):
            if table in tables and not _is_bound(part, verb, table, alias or table):
                found.append(table)
    return found


def _is_bound(part: str, verb: str, table: str, name: str) -> bool:
    if verb == "into":
        return re.search(rf"\binto {table}(?: as \w+)?\s*\[[^\]]*\btenant\b", part) is not None
    own = rf"\b{name}\.tenant = |= {name}\.tenant\b|using \[tenant\b"
    return re.search(own, part) is not None or re.search(r"(?<![.\w])tenant = ", part) is not None


@pytest.fixture
async def tables(pool: Pool) -> set[str]:
    """Tables and views with a tenant."""
    query = "select table_name from information_schema.columns where table_schema = 'public' and column_name = 'tenant'"
    return {row[0] for row in await pool.fetch(query)}


@pytest.mark.parametrize("file", FILES)
async def test_every_statement_is_bound_to_a_tenant(file: str, tables: set[str]) -> None:
    assert {"messages", "summaries", "pins", "pin_marks", "user_settings"} <= tables
    loose = {name: unbound(statement, tables) for name, statement in load("purser.context.postgres", file).items()}
    assert {name: found for name, found in loose.items() if found and (file, name) not in ACROSS_TENANTS} == {}


async def test_every_function_is_bound_to_a_tenant(tables: set[str]) -> None:
    assert unbound((STORE / "schema/excerpts.sql").read_text(), tables) == []


def test_every_exception_is_still_there() -> None:
    assert all(name in load("purser.context.postgres", file) for file, name in ACROSS_TENANTS)


@pytest.mark.parametrize(
    "statement",
    [
        "select body from messages where session_id = $1",
        "select body from messages m join sessions s on s.session_id = m.session_id where m.tenant = $1",
        "with a as (select 1 from pins where seq = $1) select body from messages where tenant = $1",
        "select body from messages where tenant = $1 union all select body from messages where seq = $2",
        "select seq from messages where tenant = $1 and seq in (select seq from pins where seq = $2)",
        "update messages set body = $2 where seq = $1",
        "delete from messages where session_id = $1 -- tenant = $1",
        "insert into pins (seq) values ($1)",
        "select 1 from messages m cross join lateral (select 1 from pins p where p.seq = m.seq) x where m.tenant = $1",
    ],
)
async def test_a_statement_that_forgets_the_tenant_is_seen(statement: str, tables: set[str]) -> None:
    assert unbound(statement, tables)
