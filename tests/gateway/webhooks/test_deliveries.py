"""Webhook deliveries over real HTTP: which events, how often, and with which signature."""

import asyncio
from typing import Any

import httpx
import pytest
from standardwebhooks import Webhook as Verifier
from standardwebhooks import WebhookVerificationError

from purser.budget.postgres.connections.pools import Pool
from purser.budget.postgres.ledger.policies import Policies
from purser.budget.postgres.ledger.settings import LedgerSettings
from purser.compose.settings import Settings
from purser.compose.stack.ports import free_port
from purser.gateway.access.roles import Role
from purser.gateway.access.sealing import Seal, new_key
from purser.gateway.approvals.links import ApprovalLinks
from purser.gateway.postgres.deliveries import Deliveries
from purser.gateway.postgres.webhooks import WebhookFields, Webhooks
from purser.gateway.webhooks import delivery as sending
from tests.gateway.conftest import RunningGateway, running_gateway
from tests.support.actors import TESTER
from tests.support.servers.webhooks import (
    Receiver,
    all_sent,
    ask,
    deliveries,
    make,
    receiving,
    settled,
    task,
)

# --- messages --------------------------------------------------------------------------------------------------------


async def test_an_approval_request_is_delivered_with_all_that_a_chat_needs(
    gateway: RunningGateway, admin: httpx.AsyncClient, receiver: Receiver
) -> None:
    hook = await make(admin, receiver.url, "approval")
    approval_id = await ask(admin)
    await receiver.until(1)
    [(headers, _)], [body] = receiver.got, receiver.bodies
    assert Verifier(hook["secret"]).verify(receiver.got[0][1], headers)
    assert body["id"] == headers["webhook-id"]
    assert headers["content-type"] == "application/json"
    assert (body["type"], body["state"], body["severity"], body["scope"]) == (
        "approval.pending", "pending", "high", "session:s1",
    )  # fmt: skip
    assert body["title"] == "Approval needed: session s1"
    assert body["text"].startswith("Session s1 needs 12,000 more tokens: deadline in 30 min (")
    assert body["approval_id"] == approval_id
    assert body["url"].startswith("https://purser.example.com/approvals?link=")
    assert approval_id not in body["url"]
    assert (body["asked"]["tokens"], body["limit"]["tokens"], body["spent"]["tokens"]) == (12_000, 1_000, 0)
    assert body["resets_at"]
    assert body["percentage"] == 0.0
    denial = {"decision_id": "d1", "decision": "deny", "note": "no", "ticket_url": "https://tickets.example.com/4711"}
    await admin.post(f"/v1/approvals/{approval_id}/decision", json=denial)
    await receiver.until(2)
    assert receiver.bodies[1]["text"] == "ada denied session s1 12,000 more tokens."
    assert [sent["ticket_url"] for sent in receiver.bodies] == [None, denial["ticket_url"]]
    event = await gateway.pool.fetchval("select data from events where data ->> 'state' = 'denied'")
    assert event["decision"].keys() == {
        "decision_id", "identity", "grant_tokens", "grant_nano_usd", "until", "ticket_url",
    }  # fmt: skip


async def test_a_threshold_message_has_percentage_and_figures_and_low_ones_may_be_left_out(
    gateway: RunningGateway, admin: httpx.AsyncClient, receiver: Receiver
) -> None:
    await make(admin, receiver.url, "threshold", least_threshold=0.9)
    await admin.put("/v1/budgets/session:s1", json={"limit_tokens": 1_000, "mode": "soft", "warn_at": [0.5, 0.9]})
    await admin.post("/v1/holds", json={"key": "k", "path": ["session:s1"], "tokens": 925})
    await receiver.until(1)
    await all_sent(gateway.pool)
    [body] = receiver.bodies
    assert (body["type"], body["percentage"], body["severity"]) == ("threshold", 92.5, "medium")
    assert body["text"] == "Session s1 has reached 90 % of its budget: 925 of 1,000 tokens spent or held."
    assert body["title"] == "Session s1: 92.5 % of its budget used"
    assert (body["held"]["tokens"], body["limit"]["tokens"]) == (925, 1_000)
    assert body["url"] == "https://purser.example.com/budgets?scope=session%3As1"


async def test_one_state_of_a_kind_may_be_chosen_as_for_an_escalation(
    gateway: RunningGateway, admin: httpx.AsyncClient, receiver: Receiver
) -> None:
    await make(admin, receiver.url, "approval.expired", "task.failed")
    await admin.put("/v1/budgets/session:s1", json={"approval": {"deadline_s": 1}})
    await ask(admin)
    await task(gateway.pool, "completed")
    await task(gateway.pool, "failed")
    await receiver.until(2)
    sent = {body["type"]: body for body in receiver.bodies}
    assert sent.keys() == {"approval.expired", "task.failed"}
    assert sent["approval.expired"]["severity"] == "high"
    assert sent["approval.expired"]["text"] == "No one decided in time: session s1 did not get 12,000 more tokens."
    assert sent["task.failed"]["url"] == "https://purser.example.com/tasks/t1"


async def test_another_call_that_joins_a_request_is_not_delivered(
    admin: httpx.AsyncClient, receiver: Receiver, gateway: RunningGateway
) -> None:
    hook = await make(admin, receiver.url, "approval")
    await ask(admin, "one")
    await ask(admin, "two")
    await settled(admin, hook)
    await all_sent(gateway.pool)
    assert len(receiver.got) == 1
    assert await gateway.pool.fetchval("select count(*) from events where kind = 'approval'") == 2


async def test_a_tenant_gets_only_its_own_events(
    gateway: RunningGateway, admin: httpx.AsyncClient, receiver: Receiver
) -> None:
    await make(admin, receiver.url, "task")
    other = await gateway.client(Role.ADMIN, tenant="other")
    mine = await make(other, receiver.url, "task")
    await task(gateway.pool, "failed", "mine", tenant="other")
    await settled(other, mine)
    await all_sent(gateway.pool)
    assert [body["task_id"] for body in receiver.bodies] == ["mine"]
    assert (await admin.get(f"/v1/webhooks/{mine['webhook_id']}")).status_code == 404
    for answer in (
        await admin.patch(f"/v1/webhooks/{mine['webhook_id']}", json={"enabled": False}),
        await admin.delete(f"/v1/webhooks/{mine['webhook_id']}"),
        await admin.get(f"/v1/webhooks/{mine['webhook_id']}/deliveries"),
        await admin.post(f"/v1/webhooks/{mine['webhook_id']}/test"),
        await admin.post(f"/v1/webhooks/{mine['webhook_id']}/secret"),
        await admin.post(f"/v1/webhooks/{mine['webhook_id']}/deliveries/1/redeliver"),
    ):
        assert answer.status_code == 404


# --- how it is sent --------------------------------------------------------------------------------------------------


async def test_two_gateways_deliver_each_event_once(
    gateway: RunningGateway, other_settings: Settings, admin: httpx.AsyncClient, receiver: Receiver
) -> None:
    async with running_gateway(other_settings):
        hook = await make(admin, receiver.url, "task")
        await asyncio.gather(*(task(gateway.pool, "failed", f"t{number}") for number in range(40)))
        await settled(admin, hook, 40)
        await all_sent(gateway.pool)
    assert sorted(body["task_id"] for body in receiver.bodies) == sorted(f"t{number}" for number in range(40))


async def test_as_many_deliveries_are_claimed_as_can_be_sent_and_one_of_each_webhook(pool: Pool) -> None:
    store = Deliveries(pool, Policies(pool, LedgerSettings()), "http://here", ApprovalLinks(Seal(), "http://here"))
    webhooks = Webhooks(pool, Seal([new_key()]))
    for _ in range(4):
        hook, _ = await webhooks.create("acme", WebhookFields(url="http://a/b", kinds=("task",)), by=TESTER)
        for _ in range(2):
            await store.test("acme", hook.webhook_id)
    first = await store.claim(3, [])
    busy = {one.webhook_id for one in first}
    assert len(first) == len(busy) == 3
    [fourth] = await store.claim(3, busy)
    assert fourth.webhook_id not in busy


async def test_deliveries_that_two_make_at_once_are_made_once(
    gateway: RunningGateway, admin: httpx.AsyncClient, receiver: Receiver
) -> None:
    hook = await make(admin, receiver.url, "task")
    await task(gateway.pool, "failed")
    await settled(admin, hook)
    await gateway.pool.execute("update webhook_cursor set position = 0")  # as one sees it that was slower
    await all_sent(gateway.pool)
    assert len(await deliveries(admin, hook)) == len(receiver.got) == 1


async def test_what_fails_is_tried_again_with_the_same_id_and_logged(
    gateway: RunningGateway, admin: httpx.AsyncClient, receiver: Receiver
) -> None:
    hook = await make(admin, receiver.url, "task")
    receiver.statuses = [500, 302, 503]
    await task(gateway.pool, "failed")
    [delivery] = await settled(admin, hook)
    assert (delivery["state"], delivery["tries"], delivery["status"], delivery["error"]) == ("delivered", 4, 204, None)
    assert len({headers["webhook-id"] for headers, _ in receiver.got}) == 1
    assert len({body for _, body in receiver.got}) == 1
    assert delivery["duration_ms"] >= 0


async def test_after_the_last_try_it_is_given_up_and_may_be_sent_anew(
    gateway: RunningGateway, admin: httpx.AsyncClient, receiver: Receiver
) -> None:
    hook = await make(admin, receiver.url, "task")
    receiver.statuses = [500] * 8
    await task(gateway.pool, "failed")
    [delivery] = await settled(admin, hook)
    assert (delivery["state"], delivery["tries"], delivery["error"]) == ("failed", 8, "status")
    assert delivery["next_at"] is None
    again = f"/v1/webhooks/{hook['webhook_id']}/deliveries/{delivery['delivery_id']}/redeliver"
    assert (await admin.post(again)).status_code == 202
    await receiver.until(9)
    assert (await settled(admin, hook))[0]["state"] == "delivered"
    assert len({headers["webhook-id"] for headers, _ in receiver.got}) == 1


async def test_no_redirect_is_followed(
    gateway: RunningGateway, admin: httpx.AsyncClient, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "BACKOFF", ())
    async with receiving(free_port()) as elsewhere:
        hook = await make(admin, receiver.url, "task")
        receiver.statuses, receiver.headers = [307], [(b"location", elsewhere.url.encode())]
        await task(gateway.pool, "failed")
        [delivery] = await settled(admin, hook)
    assert (delivery["state"], delivery["status"], delivery["error"]) == ("failed", 307, "redirect")
    assert elsewhere.got == []


async def test_a_receiver_that_is_gone_turns_its_webhook_off(
    gateway: RunningGateway, admin: httpx.AsyncClient, receiver: Receiver
) -> None:
    hook = await make(admin, receiver.url, "task")
    receiver.statuses = [410]
    await task(gateway.pool, "failed")
    await settled(admin, hook)
    await task(gateway.pool, "failed")
    found: dict[str, Any] = {}

    async with asyncio.timeout(30):
        while found.get("enabled", True):
            found = (await admin.get(f"/v1/webhooks/{hook['webhook_id']}")).json()
    assert "410" in found["disabled_reason"]
    assert len(receiver.got) == 1
    on = await admin.patch(f"/v1/webhooks/{hook['webhook_id']}", json={"enabled": True})
    assert (on.json()["enabled"], on.json()["disabled_reason"]) == (True, None)


async def test_a_slow_receiver_times_out_and_does_not_delay_others(
    gateway: RunningGateway, admin: httpx.AsyncClient, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "TIMEOUT_S", 3)
    monkeypatch.setattr(sending, "BACKOFF", ())
    slow = await make(admin, f"{receiver.url}/slow", "task.failed")
    quick = await make(admin, receiver.url, "task.completed")
    receiver.pause_s = 60
    await task(gateway.pool, "failed")
    await receiver.until(1)
    receiver.pause_s = 0
    for number in range(3):
        await task(gateway.pool, "completed", f"t{number}")
    await settled(admin, quick, 3)
    [delivery] = await settled(admin, slow)
    assert (delivery["state"], delivery["error"]) == ("failed", "timeout")


async def test_a_test_reaches_a_webhook_that_is_turned_off(admin: httpx.AsyncClient, receiver: Receiver) -> None:
    hook = await make(admin, receiver.url, "task", enabled=False)
    assert (await admin.post(f"/v1/webhooks/{hook['webhook_id']}/test")).status_code == 202
    await receiver.until(1)
    assert receiver.bodies[0]["type"] == "test"
    assert Verifier(hook["secret"]).verify(receiver.got[0][1], receiver.got[0][0])


# --- signatures ------------------------------------------------------------------------------------------------------


async def test_a_body_that_was_changed_is_noticed(admin: httpx.AsyncClient, receiver: Receiver) -> None:
    hook = await make(admin, receiver.url, "task")
    await admin.post(f"/v1/webhooks/{hook['webhook_id']}/test")
    await receiver.until(1)
    headers, body = receiver.got[0]
    with pytest.raises(WebhookVerificationError):
        Verifier(hook["secret"]).verify(body + b" ", headers)
    with pytest.raises(WebhookVerificationError):
        Verifier("whsec_" + "A" * 43 + "=").verify(body, headers)


async def test_while_a_secret_is_replaced_the_old_and_the_new_one_verify(
    gateway: RunningGateway, admin: httpx.AsyncClient, receiver: Receiver
) -> None:
    hook = await make(admin, receiver.url, "task")
    renewed = (await admin.post(f"/v1/webhooks/{hook['webhook_id']}/secret")).json()
    assert renewed["secret"] != hook["secret"]
    await admin.post(f"/v1/webhooks/{hook['webhook_id']}/test")
    await receiver.until(1)
    for secret in (hook["secret"], renewed["secret"]):
        Verifier(secret).verify(receiver.got[0][1], receiver.got[0][0])
    await gateway.pool.execute("update webhooks set previous_until = now()")
    await admin.post(f"/v1/webhooks/{hook['webhook_id']}/test")
    await receiver.until(2)
    with pytest.raises(WebhookVerificationError):
        Verifier(hook["secret"]).verify(receiver.got[1][1], receiver.got[1][0])


async def test_what_cannot_be_signed_is_not_sent_and_says_why(
    gateway: RunningGateway, admin: httpx.AsyncClient, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "BACKOFF", ())
    hook = await make(admin, receiver.url, "task")
    await gateway.pool.execute("update webhooks set secret = $1", Seal([new_key()]).encrypt("whsec_x"))
    await task(gateway.pool, "failed")
    [delivery] = await settled(admin, hook)
    assert (delivery["state"], delivery["error"], delivery["status"]) == ("failed", "secret_unreadable", None)
    assert receiver.got == []
