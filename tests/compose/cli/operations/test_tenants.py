"""`purser tenants`."""

from pathlib import Path

from purser.budget.postgres.connections.pools import create_pool
from purser.gateway.access.roles import Role
from purser.gateway.postgres.keys import Keys
from tests.support.actors import TESTER
from tests.support.servers.commands import Commands


async def test_every_tenant_with_keys_or_calls_is_listed_once(tmp_path: Path, dsn: str) -> None:
    purser = Commands.at(tmp_path, dsn=dsn)
    assert purser.json("tenants", "list") == {"items": []}
    async with await create_pool(dsn, size=1) as pool:
        for tenant, name, role in (("b", "ada", Role.ADMIN), ("b", "bot", Role.AGENT), ("a", "old", Role.ADMIN)):
            made = await Keys(pool).create(tenant, name, role, by=TESTER)
        await pool.execute("update keys set expires_at = now() where key_id = $1", made.key.key_id)
        await pool.execute(
            "insert into holds (tenant, key, state, created_at) values ('b', 'k1', 'none', '2026-01-01T00:00:00Z'), "
            "('b', 'k2', 'none', '2026-01-02T00:00:00Z'), ('c', 'k1', 'none', '2026-01-03T00:00:00Z')"
        )
    fields = ("tenant", "live_keys", "admin_keys", "last_call_at")
    assert [tuple(one[field] for field in fields) for one in purser.json("tenants", "list")["items"]] == [
        ("a", 0, 0, None),
        ("b", 2, 1, "2026-01-02T00:00:00+00:00"),
        ("c", 0, 0, "2026-01-03T00:00:00+00:00"),
    ]
    assert "2026-01-03" in purser.run("tenants", "list").stdout
