"""Webhooks over HTTP: permissions, allowed addresses, and views."""

import json
from datetime import timedelta
from typing import Any

import httpx
import pytest

from purser.budget.errors import Conflict
from purser.budget.postgres.connections.pools import Connection, Pool
from purser.compose.stack.ports import LOOPBACK
from purser.gateway.access.roles import Role
from purser.gateway.access.sealing import Seal, new_key
from purser.gateway.postgres import webhooks
from purser.gateway.postgres.delivery_figures import delivery_figures
from purser.gateway.webhooks import delivery
from tests.gateway.conftest import RunningGateway
from tests.support.actors import TESTER
from tests.support.ledger import meet
from tests.support.servers.webhooks import Receiver, deliveries, failing, make, settled, task


async def test_a_secret_is_shown_once_and_neither_it_nor_the_path_is_logged_or_recorded(
    gateway: RunningGateway, admin: httpx.AsyncClient, receiver: Receiver, capfd: pytest.CaptureFixture[str]
) -> None:
    hook = await make(admin, receiver.url, "task", description="on call")
    receiver.statuses = [500]
    await task(gateway.pool, "failed")
    await settled(admin, hook)
    await admin.patch(f"/v1/webhooks/{hook['webhook_id']}", json={"description": "nights"})
    shown = json.dumps([(await admin.get("/v1/webhooks")).json(), await deliveries(admin, hook)])
    assert hook["secret"] not in shown
    recorded = await gateway.pool.fetch(
        "select action, before, after from changes where target like 'webhook:%' order by 1"
    )
    assert [row["action"] for row in recorded] == ["webhook.change", "webhook.create"]
    assert recorded[0]["before"]["description"] == "on call"
    assert recorded[0]["after"]["description"] == "nights"
    logged = "".join(capfd.readouterr())
    for text in (str([dict(row) for row in recorded]), logged):
        assert hook["secret"] not in text
        assert "s3cr3t" not in text


async def test_only_addresses_that_the_operator_lists_are_taken(admin: httpx.AsyncClient, receiver: Receiver) -> None:
    for url in (
        f"http://{LOOPBACK}:{receiver.port}/elsewhere",
        f"http://{LOOPBACK}:{receiver.port}/hooks/../admin",
        f"http://{LOOPBACK}:{receiver.port + 1}/hooks/x",
        f"https://{LOOPBACK}:{receiver.port}/hooks/x",
        "http://169.254.169.254/hooks/x",
    ):
        refused = await admin.post("/v1/webhooks", json={"url": url, "kinds": ["task"]})
        assert refused.status_code == 422, url
        assert refused.json()["type"] == "urn:purser:target-refused"
    hook = await make(admin, receiver.url, "task")
    moved = await admin.patch(f"/v1/webhooks/{hook['webhook_id']}", json={"url": "https://elsewhere.example/hooks"})
    assert moved.status_code == 422


async def test_an_address_that_is_no_longer_listed_gets_nothing_more(
    gateway: RunningGateway, admin: httpx.AsyncClient, receiver: Receiver
) -> None:
    hook = await make(admin, receiver.url, "task")
    await gateway.pool.execute("update webhooks set url = $1", receiver.url.replace("/hooks/", "/hooks2/"))
    await task(gateway.pool, "failed")
    [failed] = await settled(admin, hook)
    assert (failed["state"], failed["tries"], failed["error"]) == ("failed", 8, "target_not_allowed")
    assert receiver.got == []


async def test_an_address_that_is_listed_again_gets_what_is_still_pending(
    gateway: RunningGateway, admin: httpx.AsyncClient, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "BACKOFF", (timedelta(hours=1),) * 7)
    hook = await make(admin, receiver.url, "task")
    await gateway.pool.execute("update webhooks set url = $1", receiver.url.replace("/hooks/", "/hooks2/"))
    await task(gateway.pool, "failed")
    await failing(admin, hook, "target_not_allowed")
    assert (await delivery_figures(gateway.pool)).failing == 1
    await gateway.pool.execute("update webhooks set url = $1", receiver.url)
    await gateway.pool.execute("update deliveries set next_at = now()")
    [delivered] = await settled(admin, hook)
    assert (delivered["state"], len(receiver.got)) == ("delivered", 1)


async def test_admins_only_manage_webhooks(gateway: RunningGateway, receiver: Receiver) -> None:
    for role in (Role.AGENT, Role.VIEWER, Role.APPROVER):
        client = await gateway.client(role)
        assert (await client.get("/v1/webhooks")).status_code == 403
        assert (await client.post("/v1/webhooks", json={"url": receiver.url, "kinds": ["task"]})).status_code == 403


@pytest.mark.parametrize(
    "body",
    [
        {"kinds": []},
        {"kinds": ["nothing"]},
        {"kinds": ["approval.sometime"]},
        {"kinds": ["threshold.high"]},
        {"kinds": ["task"], "least_threshold": -1},
        {"kinds": ["task"], "least_threshold": "0.9"},
        {"kinds": ["task"], "least_threshold": True},
        {"kinds": ["task"], "description": "a\nb"},
        {"kinds": ["task"], "secret": "mine"},
    ],
)
async def test_a_webhook_that_makes_no_sense_is_refused(
    admin: httpx.AsyncClient, receiver: Receiver, body: dict[str, Any]
) -> None:
    assert (await admin.post("/v1/webhooks", json={"url": receiver.url} | body)).status_code == 422


async def test_a_webhook_is_changed_listed_and_deleted(admin: httpx.AsyncClient, receiver: Receiver) -> None:
    hook = await make(admin, receiver.url, "task", "approval.pending", "task", least_threshold=0.9)
    assert hook["kinds"] == ["approval.pending", "task"]
    path = f"/v1/webhooks/{hook['webhook_id']}"
    changed = (await admin.patch(path, json={"kinds": ["budget"], "least_threshold": None})).json()
    assert (changed["kinds"], changed["least_threshold"], changed["url"]) == (["budget"], None, receiver.url)
    assert (await admin.get("/v1/webhooks")).json()["items"] == [changed]
    assert (await admin.patch(path, json={})).status_code == 422
    assert (await admin.delete(path)).status_code == 204
    assert (await admin.get(path)).status_code == 404
    assert (await admin.delete(path)).status_code == 404


async def test_a_tenant_has_so_many_webhooks_and_no_more(
    gateway: RunningGateway, admin: httpx.AsyncClient, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhooks, "MAX_WEBHOOKS", 2)
    [first, _] = [await make(admin, receiver.url, "task") for _ in range(2)]
    refused = await admin.post("/v1/webhooks", json={"url": receiver.url, "kinds": ["task"]})
    assert (refused.status_code, refused.json()["detail"]) == (
        409, "there are already 2 webhooks: delete one first",
    )  # fmt: skip
    await make(await gateway.client(Role.ADMIN, tenant="other"), receiver.url, "task")
    await admin.delete(f"/v1/webhooks/{first['webhook_id']}")
    await make(admin, receiver.url, "task")


async def test_of_two_that_make_the_last_webhook_at_once_one_is_refused(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhooks, "MAX_WEBHOOKS", 1)
    store = webhooks.Webhooks(pool, Seal([new_key()]))
    fields = webhooks.WebhookFields(url="http://a/b", kinds=("task",))

    async def create(connection: Connection | None = None) -> None:
        await store.create("ta", fields, by=TESTER, connection=connection)

    with pytest.raises(Conflict):
        await meet(pool, create, create)
    assert len(await store.list("ta")) == 1
