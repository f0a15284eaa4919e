"""`/v1/keys`: created once, shown once, revoked at once."""

import asyncio
import hashlib

import httpx
import pytest

from purser.budget.errors import LedgerUnavailable
from purser.budget.postgres.connections import pools
from purser.budget.postgres.connections.pools import connected, create_pool
from purser.gateway.access.leases import LEASE_S
from purser.gateway.access.roles import Role
from purser.gateway.postgres.keys import Keys
from tests.gateway.conftest import RunningGateway
from tests.support.actors import TESTER


async def test_a_key_is_shown_once_and_stored_only_as_its_digest(
    gateway: RunningGateway, admin: httpx.AsyncClient
) -> None:
    answer = await admin.post("/v1/keys", json={"name": "carol@example.com", "role": "viewer"})
    assert answer.status_code == 201
    made = answer.json()
    secret = made.pop("key")
    assert made.pop("created_at")
    assert made == {
        "key_id": made["key_id"],
        "name": "carol@example.com",
        "role": "viewer",
        "created_by": "ada",
        "expires_at": None,
        "rate_limit_per_s": None,
        "tags": {},
        "path": [],
        "revoked_by": None,
        "revoked_at": None,
    }
    stored = await gateway.pool.fetchrow("select * from keys where key_id = $1", made["key_id"])
    assert stored is not None
    assert stored["digest"] == hashlib.sha256(secret.encode()).digest()
    assert secret not in str(dict(stored))
    listed = await admin.get("/v1/keys")
    assert secret not in listed.text
    assert [key["name"] for key in listed.json()["items"]] == ["ada", "carol@example.com"]
    client = await gateway.with_secret(secret)
    assert (await client.get("/v1/budgets")).status_code == 200
    assert (await client.get("/v1/keys")).status_code == 403


async def test_a_revoked_key_stops_working_at_once(gateway: RunningGateway, admin: httpx.AsyncClient) -> None:
    made = (await admin.post("/v1/keys", json={"name": "carol", "role": "admin"})).json()
    carol = await gateway.with_secret(made["key"])
    assert (await carol.get("/v1/budgets")).status_code == 200
    for _ in range(2):
        revoked = (await admin.delete(f"/v1/keys/{made['key_id']}")).json()
        assert (revoked["revoked_by"], revoked["revoked_at"] is None) == ("ada", False)
    assert (await carol.get("/v1/budgets")).status_code == 401
    assert (await admin.post("/v1/keys", json={"name": "carol", "role": "agent"})).status_code == 201


async def test_two_live_keys_never_share_a_name(gateway: RunningGateway, admin: httpx.AsyncClient) -> None:
    before = await gateway.rows()
    answer = await admin.post("/v1/keys", json={"name": "ada", "role": "approver"})
    assert (answer.status_code, answer.json()["type"]) == (409, "urn:purser:key-name-taken")
    assert await gateway.rows() == before
    stranger = await gateway.client(Role.ADMIN, tenant="other", name="ada")
    assert (await stranger.get("/v1/keys")).status_code == 200


async def test_a_bad_key_is_refused_and_nothing_is_written(gateway: RunningGateway, admin: httpx.AsyncClient) -> None:
    before = await gateway.rows()
    bad: list[tuple[dict[str, object], str]] = [
        ({"name": "", "role": "admin"}, "name"),
        ({"name": "a b", "role": "admin"}, "name"),
        ({"name": "a" * 129, "role": "admin"}, "name"),
        ({"name": 5, "role": "admin"}, "name"),
        ({"name": "a", "role": "root"}, "role"),
        ({"name": "a"}, "role"),
        ({"name": "a", "role": "admin", "tenant": "other"}, "tenant"),
    ]
    for body, named in bad:
        answer = await admin.post("/v1/keys", json=body)
        assert answer.status_code == 422
        assert named in answer.json()["detail"]
    assert await gateway.rows() == before


async def test_no_tenant_lists_or_revokes_the_keys_of_another(
    gateway: RunningGateway, admin: httpx.AsyncClient
) -> None:
    made = (await admin.post("/v1/keys", json={"name": "carol", "role": "viewer"})).json()
    stranger = await gateway.client(Role.ADMIN, tenant="other", name="eve")
    assert [key["name"] for key in (await stranger.get("/v1/keys")).json()["items"]] == ["eve"]
    assert (await stranger.delete(f"/v1/keys/{made['key_id']}")).status_code == 404
    assert (await (await gateway.with_secret(made["key"])).get("/v1/budgets")).status_code == 200


# --- keys that end ---------------------------------------------------------------------------------------------------


async def test_a_key_expires_and_its_holder_gets_the_reason(gateway: RunningGateway, admin: httpx.AsyncClient) -> None:
    made = (await admin.post("/v1/keys", json={"name": "carol", "role": "admin", "expires_in_s": 3_600})).json()
    assert made["expires_at"]
    carol = await gateway.with_secret(made["key"])
    assert (await carol.get("/v1/budgets")).status_code == 200
    await gateway.pool.execute("update keys set expires_at = now() where name = 'carol'")
    await asyncio.sleep(LEASE_S)  # a lease ends with its key, but not with a key that is changed behind its back
    answer = await carol.get("/v1/budgets")
    assert (answer.status_code, answer.json()["type"]) == (401, "urn:purser:key-ended")
    assert made["key"] not in answer.text
    assert [key["expires_at"] is None for key in (await admin.get("/v1/keys")).json()["items"]] == [True, False]


async def test_the_name_of_a_key_that_has_ended_is_free(gateway: RunningGateway, admin: httpx.AsyncClient) -> None:
    at = "2099-01-01T00:00:00Z"
    body = {"name": "carol", "role": "viewer", "expires_at": at}
    old = (await admin.post("/v1/keys", json=body)).json()
    assert old["expires_at"] == at
    assert (await admin.post("/v1/keys", json=body)).status_code == 409
    await gateway.pool.execute("update keys set expires_at = now() where name = 'carol'")
    assert (await admin.post("/v1/keys", json=body)).status_code == 201
    items = (await admin.get("/v1/keys")).json()["items"]
    assert [(key["name"], key["revoked_by"]) for key in items] == [("ada", None), ("carol", "expiry"), ("carol", None)]


async def test_a_key_ends_once_and_in_the_future(gateway: RunningGateway, admin: httpx.AsyncClient) -> None:
    before = await gateway.rows()
    bad: list[tuple[dict[str, object], str]] = [
        ({"expires_in_s": 0}, "expires_in_s"),
        ({"expires_in_s": 10**12}, "expires_in_s"),
        ({"expires_at": "2020-01-01T00:00:00Z"}, "expires_at"),
        ({"expires_at": "2099-01-01T00:00:00"}, "expires_at"),
        ({"expires_at": "9999-12-31T23:59:59.999999Z"}, "expires_at"),
        ({"expires_at": "2099-01-01T00:00:00Z", "expires_in_s": 5}, "expires_in_s"),
        ({"rate_limit_per_s": 0}, "rate_limit_per_s"),
        ({"name": "sweeper"}, "sweeper"),
    ]
    for fields, named in bad:
        answer = await admin.post("/v1/keys", json={"name": "carol", "role": "viewer"} | fields)
        assert (answer.status_code, named in answer.json()["detail"]) == (422, True), fields
    assert await gateway.rows() == before


async def test_a_key_shows_its_tags_and_refuses_those_that_no_budget_can_have(admin: httpx.AsyncClient) -> None:
    made = (await admin.post("/v1/keys", json={"name": "bot", "role": "agent", "tags": {"team": "search"}})).json()
    assert made["tags"] == (await admin.get("/v1/keys")).json()["items"][-1]["tags"] == {"team": "search"}
    refused = await admin.post("/v1/keys", json={"name": "other", "role": "agent", "tags": {"team": "a b"}})
    assert (refused.status_code, "tag:team=a b" in refused.json()["detail"]) == (422, True)


async def test_the_path_of_a_key_changes_and_each_change_is_recorded(
    gateway: RunningGateway, admin: httpx.AsyncClient
) -> None:
    body = {"name": "bot", "role": "agent", "path": ["user:ana", "session:s1"]}
    made = (await admin.post("/v1/keys", json=body)).json()
    assert made["path"] == ["user:ana", "session:s1"]
    for _ in range(2):
        changed = await admin.patch(f"/v1/keys/{made['key_id']}", json={"path": ["task:t1"]})
        assert changed.json()["path"] == ["task:t1"]
    [change] = (await admin.get("/v1/changes?action=key.change")).json()["items"]
    assert (change["before"]["path"], change["after"]["path"]) == (["user:ana", "session:s1"], ["task:t1"])
    before = await gateway.rows()
    bad = [
        ["planet:x"], ["task:t1", "session:s1"], ["tenant:other"], ["tag:team=x"], "task:t1", ["task:t1", "agent:t2/a"]
    ]  # fmt: skip
    for path in bad:
        refused = await admin.patch(f"/v1/keys/{made['key_id']}", json={"path": path})
        assert refused.status_code == 422, path
        assert (await admin.post("/v1/keys", json=body | {"name": "b2", "path": path})).status_code == 422
    assert (await admin.patch("/v1/keys/key-none", json={"path": []})).status_code == 404
    assert await gateway.rows() == before
    (await admin.delete(f"/v1/keys/{made['key_id']}")).raise_for_status()
    assert (await admin.patch(f"/v1/keys/{made['key_id']}", json={"path": []})).status_code == 422


async def test_role_and_end_of_a_key_change_at_once_and_each_change_is_recorded(
    gateway: RunningGateway, admin: httpx.AsyncClient
) -> None:
    made = (await admin.post("/v1/keys", json={"name": "carol", "role": "viewer"})).json()
    carol, path = await gateway.with_secret(made["key"]), f"/v1/keys/{made['key_id']}"
    assert (await carol.get("/v1/keys")).status_code == 403
    end = "2099-01-01T00:00:00Z"
    changed = (await admin.patch(path, json={"role": "admin", "expires_at": end})).json()
    assert (changed["role"], changed["expires_at"], changed["path"]) == ("admin", end, [])
    assert (await carol.get("/v1/keys")).status_code == 200
    assert (await admin.patch(path, json={"role": "agent"})).json()["expires_at"] == end
    assert (await carol.get("/v1/keys")).status_code == 403
    assert (await admin.patch(path, json={"expires_in_s": 60})).json()["expires_at"] < end
    assert (await admin.patch(path, json={"expires_at": None})).json()["expires_at"] is None
    changes = (await admin.get("/v1/changes?action=key.change")).json()["items"]
    assert [(one["by"], one["before"]["role"], one["after"]["role"]) for one in reversed(changes)] == [
        ("ada", "viewer", "admin"), ("ada", "admin", "agent"), ("ada", "agent", "agent"), ("ada", "agent", "agent"),
    ]  # fmt: skip
    before = await gateway.rows()
    for body, named in (
        ({}, "name a field to change"),
        ({"role": "root"}, "role"),
        *(({name: None, "expires_at": end}, f"{name} is null") for name in ("role", "path", "expires_in_s")),
        ({"expires_at": "2020-01-01T00:00:00Z"}, "expires_at"),
        ({"expires_in_s": 5, "expires_at": end}, "expires_in_s"),
        ({"name": "carla"}, "name"),
    ):
        refused = await admin.patch(path, json=body)
        assert (refused.status_code, named in refused.json()["detail"]) == (422, True), body
    assert await gateway.rows() == before


async def test_a_key_that_has_expired_is_live_again_once_it_ends_later(
    gateway: RunningGateway, admin: httpx.AsyncClient
) -> None:
    made = (await admin.post("/v1/keys", json={"name": "carol", "role": "viewer"})).json()
    await gateway.pool.execute("update keys set expires_at = now() where name = 'carol'")
    carol = await gateway.with_secret(made["key"])
    assert (await carol.get("/v1/budgets")).status_code == 401
    (await admin.patch(f"/v1/keys/{made['key_id']}", json={"expires_in_s": 60})).raise_for_status()
    assert (await carol.get("/v1/budgets")).status_code == 200


async def test_keys_are_an_unavailable_ledger_in_time_while_no_connection_is_free(
    emptied_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "ACQUIRE_S", 0.1)
    async with await create_pool(emptied_dsn, size=1) as pool, connected(pool, None), asyncio.timeout(5):
        keys = Keys(pool)
        for step in (
            keys.list("t"), keys.tenants(), keys.signer("t", "k"), keys.revoke("t", "k", by=TESTER),
            keys.change("t", "k", by=TESTER),
        ):  # fmt: skip
            with pytest.raises(LedgerUnavailable, match="TimeoutError"):
                await step
