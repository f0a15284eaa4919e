"""The change log: rows are written with their change, never altered, and read newest first."""

from datetime import timedelta

import asyncpg
import pytest

from purser.budget.actors import Actor
from purser.budget.postgres.changes import Change, Changes, record
from purser.budget.postgres.connections.pools import Pool
from tests.support.actors import ADA


async def write(pool: Pool, target: str, tenant: str = "default", by: str = "ada", action: str = "policy.set") -> None:
    async with pool.acquire() as connection:
        await record(connection, tenant, action, target, by=Actor(by, None), before=None, after={"limit_tokens": 5})


def targets(changes: list[Change]) -> list[str]:
    return [change.target for change in changes]


async def test_a_change_says_who_what_when_and_how_it_was(pool: Pool) -> None:
    before, after = {"limit_tokens": 5}, {"limit_tokens": 7, "mode": "hard"}
    async with pool.acquire() as connection:
        await record(
            connection, "default", "policy.set", "session:s1", by=Actor("ada", "key-1"), before=before, after=after
        )
        await record(
            connection, "default", "session.delete", "session:s1", by=Actor("sweeper", None), before={}, after=None
        )
    swept, changed = (await Changes(pool).list("default"))[0]
    assert (changed.by, changed.key_id, changed.action, changed.target) == ("ada", "key-1", "policy.set", "session:s1")
    assert (changed.before, changed.after) == (before, after)
    assert (swept.by, swept.key_id, swept.before, swept.after) == ("sweeper", None, {}, None)
    assert changed.at <= swept.at


async def test_a_change_that_does_not_happen_leaves_no_row(pool: Pool) -> None:
    async with pool.acquire() as connection:
        transaction = connection.transaction()
        await transaction.start()
        await record(connection, "default", "policy.set", "session:s1", by=ADA, before=None, after=None)
        await transaction.rollback()
    assert (await Changes(pool).list("default"))[0] == []


@pytest.mark.parametrize("statement", ["update changes set by = 'eve'", "delete from changes", "truncate changes"])
async def test_changes_are_never_altered_or_removed(pool: Pool, statement: str) -> None:
    await write(pool, "session:s1")
    with pytest.raises(asyncpg.RaiseError, match="append-only"):
        await pool.execute(statement)


async def test_pages_come_newest_first_and_continue_where_the_last_one_ended(pool: Pool) -> None:
    for number in range(5):
        await write(pool, f"session:s{number}")
    changes = Changes(pool)
    first, cursor = await changes.list("default", limit=2)
    await write(pool, "session:late")
    second, cursor = await changes.list("default", limit=2, cursor=cursor)
    third, end = await changes.list("default", limit=2, cursor=cursor)
    assert targets(first + second + third) == [f"session:s{number}" for number in (4, 3, 2, 1, 0)]
    assert end is None


async def test_changes_are_found_by_target_author_action_and_time(pool: Pool) -> None:
    await write(pool, "session:s1")
    await write(pool, "session:s2", by="ben")
    await write(pool, "key:k1", action="key.create")
    changes = Changes(pool)
    newest = (await changes.list("default"))[0][0]
    assert targets((await changes.list("default", target="session:s1"))[0]) == ["session:s1"]
    assert targets((await changes.list("default", by="ben"))[0]) == ["session:s2"]
    assert targets((await changes.list("default", action="key.create"))[0]) == ["key:k1"]
    assert targets((await changes.list("default", since=newest.at))[0]) == ["key:k1"]
    assert targets((await changes.list("default", until=newest.at))[0]) == ["session:s2", "session:s1"]
    assert (await changes.list("default", since=newest.at + timedelta(seconds=1)))[0] == []


async def test_no_tenant_sees_the_changes_of_another(pool: Pool) -> None:
    await write(pool, "session:s1", tenant="other")
    assert (await Changes(pool).list("default"))[0] == []
    assert targets((await Changes(pool).list("other"))[0]) == ["session:s1"]
