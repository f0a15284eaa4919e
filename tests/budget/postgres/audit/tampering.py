"""A ledger that is made once and copied back for each test, and what the audit finds once somebody went round it."""

import json
from collections.abc import Awaitable, Callable
from unittest.mock import patch

from purser.budget.postgres.audit import audit
from purser.budget.postgres.connections.pools import Pool

KEEP = """
create schema kept;
create table kept.numbers as select sequencename as name, last_value as last from pg_sequences
    where schemaname = 'public' and last_value is not null;
do $$
declare
    one name;
begin
    for one in select relname from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' loop
        execute format('create table kept.%1$I as table public.%1$I', one);
    end loop;
end $$;
"""
COPY_BACK = """
do $$
declare
    one name;
begin
    perform set_config('session_replication_role', 'replica', true);  -- without the triggers that write rows
    for one in select relname from pg_class
               where relnamespace = 'kept'::regnamespace and relkind = 'r' and relname <> 'numbers' loop
        execute format('delete from public.%1$I', one);
        execute format('insert into public.%1$I overriding system value table kept.%1$I', one);
    end loop;
    perform setval(format('public.%I', n.name), n.last) from kept.numbers n;
end $$;
"""


async def copied(pool: Pool, kept: str, make: Callable[[Pool], Awaitable[None]]) -> None:
    """Fills an empty database with what `make` writes, from the schema `kept` once that has a copy that the audit
    found sound."""
    if await pool.fetchval("select to_regnamespace($1) is not null", kept):
        await pool.execute(COPY_BACK)
        return
    await make(pool)
    await pool.execute(KEEP)
    await pool.execute(COPY_BACK)
    found = await audit.audit(pool)
    assert found.ok, found.differences


async def tamper(pool: Pool, sql: str, *checks: str) -> set[str]:
    """Those of these checks of the audit that find a difference after `sql` went round the ledger."""
    async with pool.acquire() as own, own.transaction():
        await own.execute("set local session_replication_role = replica")
        await own.execute(sql)
    some = {check: what for check, what in audit._CHECKS.items() if check in checks}
    with patch.object(audit, "_CHECKS", some):  # all of them would take most of a test's time
        found = await audit.audit(pool)
    json.dumps(found.to_json())
    return {str(difference["check"]) for difference in found.differences}
