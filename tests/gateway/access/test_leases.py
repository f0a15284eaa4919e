"""Keys in use are taken without a read, and no longer than until somebody is told that they are revoked."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from purser.budget.errors import LedgerUnavailable
from purser.budget.postgres.connections.pools import Pool, create_pool
from purser.gateway.access.leases import LEASE_S, REMEMBERED, Leases
from purser.gateway.access.roles import Principal, Role
from purser.gateway.postgres.keys import Keys, NewKey
from tests.support.actors import TESTER

CALLER = Principal("ada", "key-1", "default", Role.AGENT)


class Clock:
    """A clock that stands still."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


async def made(pool: Pool, expires_at: datetime | None = None) -> NewKey:
    return await Keys(pool).create("default", "ada", Role.AGENT, by=TESTER, expires_at=expires_at)


async def read_once(keys: Keys, secret: str) -> None:
    assert await keys.find(secret) is not None


async def unreadable(pool: Pool) -> None:
    """From now on every read of a key fails."""
    await pool.execute("alter table keys rename to keys_away")


async def test_a_key_that_has_been_found_is_taken_without_a_read(pool: Pool) -> None:
    key, keys = await made(pool), Keys(pool)
    await read_once(keys, key.secret)
    await unreadable(pool)
    caller = await keys.leased(key.secret)
    assert caller is not None
    assert (caller.name, caller.key_id) == ("ada", key.key.key_id)


async def test_a_key_that_has_not_been_found_has_no_lease(pool: Pool) -> None:
    key, keys = await made(pool), Keys(pool)
    assert await keys.leased(key.secret) is None
    assert await keys.find("purser_made-up") is None
    assert await keys.leased("purser_made-up") is None


async def test_once_a_key_is_revoked_no_process_takes_it(pool: Pool) -> None:
    key, keys, of_another_process = await made(pool), Keys(pool), Keys(pool)
    await read_once(keys, key.secret)
    revoking = asyncio.create_task(of_another_process.revoke("default", key.key.key_id, by=TESTER))
    while not revoking.done():
        await keys.leased(key.secret)  # a key in use renews its lease until then
        await asyncio.sleep(0.01)
    assert await keys.leased(key.secret) is None


async def test_once_a_key_is_changed_no_call_has_the_old_path_or_role(pool: Pool) -> None:
    key, keys = await made(pool), Keys(pool)
    await read_once(keys, key.secret)
    for _ in range(2):
        await Keys(pool).change("default", key.key.key_id, role=Role.VIEWER, path=["session:new"], by=TESTER)
        caller = await keys.leased(key.secret)
        assert caller is not None
        assert (caller.role, caller.path) == (Role.VIEWER, ["session:new"])


async def test_a_key_that_is_revoked_again_is_over_as_well(pool: Pool) -> None:
    key, keys = await made(pool), Keys(pool)
    await read_once(keys, key.secret)
    first = asyncio.create_task(keys.revoke("default", key.key.key_id, by=TESTER))
    await keys.revoke("default", key.key.key_id, by=TESTER)
    assert await keys.leased(key.secret) is None
    await first


async def test_once_a_key_is_replaced_no_process_takes_it(pool: Pool) -> None:
    key, keys = await made(pool), Keys(pool)
    await read_once(keys, key.secret)
    await Keys(pool).create("default", "ada", Role.AGENT, by=TESTER, replace=True)
    assert await keys.leased(key.secret) is None


async def test_a_lease_ends_with_its_key(pool: Pool) -> None:
    clock = Clock()
    key, keys = await made(pool, expires_at=datetime.now(UTC) + timedelta(seconds=0.2)), Keys(pool, clock)
    await read_once(keys, key.secret)
    await pool.execute("update keys set expires_at = now()")
    clock.now += 0.2
    assert await keys.leased(key.secret) is None


async def test_a_lease_that_is_over_is_read_again(pool: Pool) -> None:
    clock = Clock()
    key, keys = await made(pool), Keys(pool, clock)
    await read_once(keys, key.secret)
    clock.now += LEASE_S
    assert await keys.leased(key.secret) is not None
    await pool.execute("update keys set revoked_at = now(), revoked_by = 'test'")
    clock.now += LEASE_S
    assert await keys.leased(key.secret) is None


async def test_a_lease_is_renewed_while_the_old_one_still_holds(pool: Pool) -> None:
    clock = Clock()
    key, keys = await made(pool), Keys(pool, clock)
    await read_once(keys, key.secret)
    clock.now += LEASE_S / 2
    before = asyncio.all_tasks()
    assert await keys.leased(key.secret) is not None
    await asyncio.wait(asyncio.all_tasks() - before, timeout=10)
    clock.now += LEASE_S / 2
    await unreadable(pool)
    assert await keys.leased(key.secret) is not None


async def test_without_postgres_leases_end(dsn: str) -> None:
    clock = Clock()
    async with await create_pool(dsn) as pool:
        key, keys = await made(pool), Keys(pool, clock)
        await read_once(keys, key.secret)
    assert await keys.leased(key.secret) is not None
    clock.now += LEASE_S
    with pytest.raises(LedgerUnavailable):
        await keys.leased(key.secret)


def test_leases_are_bounded_and_the_oldest_goes_first() -> None:
    leases = Leases()
    for number in range(REMEMBERED + 1):
        leases.grant(str(number).encode(), CALLER, leases.now(), None)
    assert leases.last(b"0") is None
    assert leases.last(b"1") is not None
