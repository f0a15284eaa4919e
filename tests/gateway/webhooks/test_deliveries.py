"""Webhook deliveries over real HTTP: which events, how often, and with which signature."""

import asyncio
import re
from collections import Counter
from datetime import timedelta
from typing import Any

import httpx
import pytest
from standardwebhooks import Webhook as Verifier
from standardwebhooks import WebhookVerificationError

from purser.budget.postgres.connections.pools import Pool
from purser.budget.postgres.events.events import EventKind, Events
from purser.budget.scopes import Scope
from purser.compose.settings import Settings
from purser.compose.stack.ports import free_port
from purser.gateway.access.roles import Role
from purser.gateway.access.sealing import Seal, new_key
from purser.gateway.postgres.deliveries import Deliveries
from purser.gateway.postgres.webhooks import MOST_PREVIOUS, WebhookFields, Webhooks
from purser.gateway.webhooks import delivery as sending
from purser.gateway.webhooks.messages import FIELDS
from tests.gateway.conftest import RunningGateway, running_gateway
from tests.support.actors import TESTER
from tests.support.events import put
from tests.support.servers.webhooks import (
    Receiver,
    all_sent,
    ask,
    deliveries,
    failing,
    make,
    receiving,
    settled,
    store_on,
    task,
    tell,
)

# --- messages --------------------------------------------------------------------------------------------------------

NOT_CREATED = 'purser_webhook_failures_total{reason="not_created"}'
GIVEN_UP = 'purser_webhook_failures_total{reason="given_up"}'


async def counted(gateway: RunningGateway, client: httpx.AsyncClient, series: str) -> float:
    """The value of a series that the gateway exports."""
    lines = (await client.get(gateway.metrics_url)).text.splitlines()
    [value] = [float(line.removeprefix(series)) for line in lines if line.startswith(series)]
    return value


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


@pytest.mark.parametrize("name", ["tag:team=..", "task:.", "agent:t1/.."])
async def test_events_of_scopes_whose_names_predate_todays_rules_are_delivered(
    gateway: RunningGateway, admin: httpx.AsyncClient, receiver: Receiver, name: str
) -> None:
    await make(admin, receiver.url, "budget", "approval")
    nothing = {"tokens": 0, "nano_usd": 0}
    request = {
        "approval_id": "a1", "state": "expired", "asked": nothing, "given": nothing,
        "deadline": "2026-11-20T12:30:00+00:00",
    }  # fmt: skip
    async with gateway.pool.acquire() as own:
        scope = Scope.stored(name)
        await put(own, "default", EventKind.BUDGET, scope, {"by": "ada", "fields": {"mode": {}}})
        await put(own, "default", EventKind.APPROVAL, scope, request)
    await receiver.until(2)
    assert {body["scope"] for body in receiver.bodies} == {name}
    assert {body["type"] for body in receiver.bodies} == {"budget.changed", "approval.expired"}


async def test_an_event_of_which_no_message_can_be_created_stops_no_other_and_is_counted_and_logged(
    gateway: RunningGateway, admin: httpx.AsyncClient, receiver: Receiver, capfd: pytest.CaptureFixture[str]
) -> None:
    other = await gateway.client(Role.ADMIN, tenant="other")
    await make(other, receiver.url, "task", "turn")
    hook = await make(admin, receiver.url, "task")
    before = await counted(gateway, admin, NOT_CREATED)
    await tell(gateway.pool, EventKind.TURN, "other", task_id="t1")  # without a step
    await tell(gateway.pool, EventKind.TASK, "other", status="failed")  # without a task
    await task(gateway.pool, "failed", "mine")
    await settled(admin, hook)
    await all_sent(gateway.pool)
    assert [body["task_id"] for body in receiver.bodies] == ["mine"]
    assert await counted(gateway, admin, NOT_CREATED) == before + 2
    positions = await gateway.pool.fetch("select position from events where tenant = 'other'")
    assert {f"position={one['position']}" for one in positions} <= set("".join(capfd.readouterr()).split())


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


async def due_tests(store: Deliveries, pool: Pool, tenant: str, hooks: int, each: int) -> list[str]:
    """New webhooks of a tenant, each with so many due tests."""
    webhooks, made = Webhooks(pool, Seal([new_key()])), []
    for _ in range(hooks):
        hook, _ = await webhooks.create(tenant, WebhookFields(url="http://a/b", kinds=("task",)), by=TESTER)
        made.append(hook.webhook_id)
        for _ in range(each):
            await store.test(tenant, hook.webhook_id)
    return made


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
    store = store_on(pool)
    await due_tests(store, pool, "acme", hooks=4, each=2)
    first = await store.claim(3, [], 8)
    busy = {one.webhook_id for one in first}
    assert len(first) == len(busy) == 3
    [fourth] = await store.claim(3, busy, 8)
    assert fourth.webhook_id not in busy


async def test_a_tenant_with_many_slow_receivers_leaves_room_for_others(pool: Pool) -> None:
    store = store_on(pool)
    await due_tests(store, pool, "slow", hooks=10, each=1)
    await due_tests(store, pool, "acme", hooks=2, each=1)
    first = await store.claim(32, [], 8)
    assert Counter(one.tenant for one in first) == {"slow": 8, "acme": 2}
    busy = [one.webhook_id for one in first if one.tenant == "slow"]
    await due_tests(store, pool, "slow", hooks=1, each=1)
    assert await store.claim(32, busy, 8) == []
    assert len(await store.claim(32, busy[1:], 8)) == 1, "as soon as one has ended"


async def test_where_not_all_fit_tenants_with_the_fewest_in_progress_come_first_and_then_what_is_due_longest(
    pool: Pool,
) -> None:
    store = store_on(pool)
    slow = await due_tests(store, pool, "slow", hooks=4, each=1)
    acme = await due_tests(store, pool, "acme", hooks=2, each=1)
    # Rows that are written again come last in physical order.
    await pool.execute("update webhooks set description = 'x' where webhook_id = $1", slow[0])
    await pool.execute("update deliveries set next_at = now() - interval '1 minute' where webhook_id = $1", slow[0])
    first = [one.webhook_id for one in await store.claim(2, [], 8)]
    assert set(first) == {slow[0], acme[0]}
    assert [one.webhook_id for one in await store.claim(1, [slow[0]], 8)] == [acme[1]]


async def test_claims_of_two_processes_at_once_share_what_is_due(pool: Pool) -> None:
    store = store_on(pool)
    await due_tests(store, pool, "acme", hooks=8, each=1)
    claims = await asyncio.gather(*(store.claim(4, [], 8) for _ in range(4)))
    claimed = [one.delivery_id for claim in claims for one in claim]
    assert len(claimed) == len(set(claimed))
    left = await store.claim(8, [], 8)
    assert len(claimed) + len(left) == 8


async def test_deliveries_that_two_make_at_once_are_made_once(
    gateway: RunningGateway, admin: httpx.AsyncClient, receiver: Receiver
) -> None:
    hook = await make(admin, receiver.url, "task")
    await task(gateway.pool, "failed")
    await settled(admin, hook)
    await gateway.pool.execute("update webhook_cursor set position = 0")  # as one sees it that was slower
    await all_sent(gateway.pool)
    assert len(await deliveries(admin, hook)) == len(receiver.got) == 1


async def test_an_event_at_a_position_that_a_restore_gives_again_has_another_message_id_and_the_same_event_the_same(
    pool: Pool,
) -> None:
    store = store_on(pool)
    await due_tests(store, pool, "default", hooks=1, each=0)

    async def message_id() -> str:
        await pool.execute("delete from deliveries")
        await pool.execute("update webhook_cursor set position = 0")
        assert not await store.make(lambda: None)
        found: str = await pool.fetchval("select message_id from deliveries where position = 1")
        return found

    await task(pool, "failed")
    await Events(pool).number()
    first = await message_id()
    assert await message_id() == first
    await pool.execute("delete from events")
    await pool.execute("select setval('event_positions', 1, false)")
    await task(pool, "failed")
    await Events(pool).number()
    again = await message_id()
    assert again != first
    assert re.fullmatch(r"msg_[0-9a-zA-Z-]+_1_[0-9a-f]{8}", again)


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
    before = await counted(gateway, admin, GIVEN_UP)
    receiver.statuses = [500] * 8
    await task(gateway.pool, "failed")
    [delivery] = await settled(admin, hook)
    assert (delivery["state"], delivery["tries"], delivery["error"]) == ("failed", 8, "status")
    assert await counted(gateway, admin, GIVEN_UP) == before + 1
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
    off = await admin.patch(f"/v1/webhooks/{hook['webhook_id']}", json={"description": "the old one"})
    assert "410" in off.json()["disabled_reason"]
    off = await admin.patch(f"/v1/webhooks/{hook['webhook_id']}", json={"enabled": False})
    assert (off.json()["enabled"], off.json()["disabled_reason"]) == (False, None)
    on = await admin.patch(f"/v1/webhooks/{hook['webhook_id']}", json={"enabled": True})
    assert (on.json()["enabled"], on.json()["disabled_reason"]) == (True, None)


async def test_what_is_pending_for_a_webhook_that_is_turned_off_ends_when_it_is_due_and_is_sent_only_if_asked_for(
    gateway: RunningGateway, admin: httpx.AsyncClient, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "BACKOFF", (timedelta(hours=1),) * 7)
    hook = await make(admin, receiver.url, "task")
    path = f"/v1/webhooks/{hook['webhook_id']}"
    receiver.statuses = [500]
    await task(gateway.pool, "failed")
    await failing(admin, hook, "status")
    await admin.patch(path, json={"enabled": False})
    await gateway.pool.execute("update deliveries set next_at = now()")
    [delivery] = await settled(admin, hook)
    assert (delivery["state"], delivery["tries"], delivery["error"]) == ("failed", 1, "disabled")
    again = f"{path}/deliveries/{delivery['delivery_id']}/redeliver"
    assert (await admin.post(again)).status_code == 202
    [delivery] = await settled(admin, hook)
    assert (delivery["state"], delivery["tries"], delivery["error"]) == ("failed", 0, "disabled")
    await admin.patch(path, json={"enabled": True})
    await all_sent(gateway.pool)
    assert len(receiver.got) == 1
    await admin.post(again)
    await receiver.until(2)


async def test_what_is_pending_while_a_webhook_is_turned_off_for_a_moment_is_still_sent(
    gateway: RunningGateway, admin: httpx.AsyncClient, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "BACKOFF", (timedelta(hours=1),) * 7)
    hook = await make(admin, receiver.url, "task")
    receiver.statuses = [500]
    await task(gateway.pool, "failed")
    await failing(admin, hook, "status")
    for enabled in (False, True):
        await admin.patch(f"/v1/webhooks/{hook['webhook_id']}", json={"enabled": enabled})
    await gateway.pool.execute("update deliveries set next_at = now()")
    [delivery] = await settled(admin, hook)
    assert delivery["state"] == "delivered"


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
    assert receiver.bodies[0].keys() == {"id", *FIELDS}
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


async def rotated(admin: httpx.AsyncClient, hook: dict[str, Any]) -> str:
    """A new secret of a webhook."""
    secret: str = (await admin.post(f"/v1/webhooks/{hook['webhook_id']}/secret")).json()["secret"]
    return secret


async def test_while_a_secret_is_replaced_the_old_ones_and_the_new_one_verify(
    gateway: RunningGateway, admin: httpx.AsyncClient, receiver: Receiver
) -> None:
    hook = await make(admin, receiver.url, "task")
    secrets = [hook["secret"], await rotated(admin, hook), await rotated(admin, hook)]
    assert len(set(secrets)) == 3
    await admin.post(f"/v1/webhooks/{hook['webhook_id']}/test")
    await receiver.until(1)
    for secret in secrets:
        Verifier(secret).verify(receiver.got[0][1], receiver.got[0][0])
    await gateway.pool.execute("update webhooks set previous_until = now()")
    await admin.post(f"/v1/webhooks/{hook['webhook_id']}/test")
    await receiver.until(2)
    for secret in secrets[:2]:
        with pytest.raises(WebhookVerificationError):
            Verifier(secret).verify(receiver.got[1][1], receiver.got[1][0])
    await rotated(admin, hook)
    await admin.post(f"/v1/webhooks/{hook['webhook_id']}/test")
    await receiver.until(3)
    assert len(receiver.got[2][0]["webhook-signature"].split()) == 2


async def test_a_secret_that_is_replaced_again_and_again_leaves_a_bounded_number(
    gateway: RunningGateway, admin: httpx.AsyncClient, receiver: Receiver
) -> None:
    hook = await make(admin, receiver.url, "task")
    for _ in range(MOST_PREVIOUS + 2):
        await rotated(admin, hook)
    stored = await gateway.pool.fetchval("select previous_secret from webhooks")
    assert len(stored.split()) == MOST_PREVIOUS


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


async def test_after_the_key_was_lost_a_new_secret_signs_alone(
    gateway: RunningGateway, admin: httpx.AsyncClient, receiver: Receiver
) -> None:
    hook = await make(admin, receiver.url, "task")
    await gateway.pool.execute("update webhooks set secret = $1", Seal([new_key()]).encrypt("whsec_x"))
    renewed = (await admin.post(f"/v1/webhooks/{hook['webhook_id']}/secret")).json()
    await task(gateway.pool, "failed")
    await receiver.until(1)
    [(headers, body)] = receiver.got
    assert Verifier(renewed["secret"]).verify(body, headers)
    assert len(headers["webhook-signature"].split()) == 1
