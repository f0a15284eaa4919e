"""Webhooks over real HTTP: who is told what, where to, how often, and signed by whom."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import httpx
import pytest
from standardwebhooks import Webhook as Verifier
from standardwebhooks import WebhookVerificationError
from starlette.types import Receive, Scope, Send

from budget.postgres.connection import Pool
from budget.postgres.events import EventKind, put
from budget.scopes import Scope as BudgetScope
from compose import deliveries as sending
from compose.serving import serve
from compose.settings import Settings
from compose.stack.ports import LOOPBACK, free_port
from gateway.roles import Role
from tests.gateway.conftest import RunningGateway, running_gateway

SESSION = BudgetScope.parse("session:s1")
PATH = "/hooks/s3cr3t"
ALL_SENT = """
select not exists (select from events e, webhook_cursor c where e.position is null or e.position > c.position)
    and not exists (select from deliveries where state = 'pending')
"""


@dataclass
class Receiver:
    """A server that is told."""

    port: int
    path: str = field(default_factory=lambda: f"{PATH}/{uuid.uuid4().hex}")
    got: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    """What it answers, one after the other; then 204."""
    pause_s: float = 0
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.port}{self.path}"

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [json.loads(body) for _, body in self.got]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = (await receive())["body"]
        if not scope["path"].startswith(self.path):
            return  # a late message of another test
        self.got.append(({name.decode(): value.decode() for name, value in scope["headers"]}, body))
        await asyncio.sleep(self.pause_s)
        status = self.statuses.pop(0) if self.statuses else 204
        await send({"type": "http.response.start", "status": status, "headers": self.headers})
        await send({"type": "http.response.body"})

    async def until(self, count: int) -> None:
        await until(lambda: len(self.got) >= count)


async def until(reached: Callable[[], object]) -> None:
    async with asyncio.timeout(30):
        while not reached():
            await asyncio.sleep(0.02)


@asynccontextmanager
async def receiving(port: int) -> AsyncIterator[Receiver]:
    receiver, stop, ready = Receiver(port), asyncio.Event(), asyncio.Event()
    serving = asyncio.create_task(serve(receiver, LOOPBACK, receiver.port, stop, ready.set, grace_s=0))
    await ready.wait()
    yield receiver
    stop.set()
    await serving


@pytest.fixture
async def receiver(hook_port: int, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Receiver]:
    """At the address that the gateway may send to."""
    monkeypatch.setattr(sending, "BACKOFF", (timedelta(seconds=0.1),) * 7)
    async with receiving(hook_port) as one:
        yield one


async def make(client: httpx.AsyncClient, url: str, *kinds: str, **fields: Any) -> dict[str, Any]:
    answer = await client.post("/v1/webhooks", json={"url": url, "kinds": [*kinds]} | fields)
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


async def tell(pool: Pool, kind: EventKind, tenant: str = "default", **data: Any) -> None:
    async with pool.acquire() as own:
        await put(own, tenant, kind, SESSION, data)


async def task(pool: Pool, status: str, name: str = "t1", tenant: str = "default") -> None:
    await tell(pool, EventKind.TASK, tenant, task_id=name, session_id="s1", status=status)


async def deliveries(client: httpx.AsyncClient, hook: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await client.get(f"/v1/webhooks/{hook['webhook_id']}/deliveries")).json()["items"]
    return found


async def settled(client: httpx.AsyncClient, hook: dict[str, Any], count: int = 1) -> list[dict[str, Any]]:
    """The deliveries, once so many have ended."""
    found: list[dict[str, Any]] = []
    try:
        async with asyncio.timeout(30):
            while sum(one["state"] != "pending" for one in found) < count:
                found = await deliveries(client, hook)
                await asyncio.sleep(0.05)
    except TimeoutError:
        pytest.fail(f"not all have ended: {found}")
    return found


async def all_sent(pool: Pool) -> None:
    """Waits until there is nothing left to send of what has happened so far."""
    async with asyncio.timeout(30):
        while not await pool.fetchval(ALL_SENT):
            await asyncio.sleep(0.02)


async def ask(client: httpx.AsyncClient, key: str = "k") -> str:
    """An approval request of a session that is short."""
    body = {"limit_tokens": 1_000, "mode": "approval", "warn_at": [0.8], "window": "day"}
    await client.put("/v1/budgets/session:s1", json=body)
    answer = await client.post("/v1/holds", json={"key": key, "path": ["session:s1"], "tokens": 13_000})
    approval_id: str = answer.json()["approval_id"]
    assert approval_id
    return approval_id


# --- what is told ----------------------------------------------------------------------------------------------------


async def test_an_approval_request_is_told_with_all_that_a_chat_needs(
    admin: httpx.AsyncClient, receiver: Receiver
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
    assert body["url"] == f"https://purser.example.com/approvals?id={approval_id}"
    assert (body["asked"]["tokens"], body["limit"]["tokens"], body["spent"]["tokens"]) == (12_000, 1_000, 0)
    assert body["resets_at"]
    assert body["percentage"] == 0.0
    await admin.post(f"/v1/approvals/{approval_id}/decision", json={"decision_id": "d1", "decision": "deny"})
    await receiver.until(2)
    assert receiver.bodies[1]["text"] == "ada denied session s1 12,000 more tokens."


async def test_a_threshold_tells_percentage_and_figures_and_low_ones_may_be_left_out(
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
    told = {body["type"]: body for body in receiver.bodies}
    assert told.keys() == {"approval.expired", "task.failed"}
    assert told["approval.expired"]["severity"] == "high"
    assert told["approval.expired"]["text"] == "Nobody decided in time: session s1 did not get 12,000 more tokens."
    assert told["task.failed"]["url"] == "https://purser.example.com/tasks/t1"


async def test_another_who_joins_a_request_is_no_news(
    admin: httpx.AsyncClient, receiver: Receiver, gateway: RunningGateway
) -> None:
    hook = await make(admin, receiver.url, "approval")
    await ask(admin, "one")
    await ask(admin, "two")
    await settled(admin, hook)
    await all_sent(gateway.pool)
    assert len(receiver.got) == 1
    assert await gateway.pool.fetchval("select count(*) from events where kind = 'approval'") == 2


async def test_a_tenant_is_told_of_itself_only(
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
    gateway: RunningGateway, settings: Settings, admin: httpx.AsyncClient, receiver: Receiver
) -> None:
    other = settings.model_copy(update={"gateway_port": free_port(), "metrics_port": free_port()})
    async with running_gateway(other):
        hook = await make(admin, receiver.url, "task")
        await asyncio.gather(*(task(gateway.pool, "failed", f"t{number}") for number in range(40)))
        await settled(admin, hook, 40)
        await all_sent(gateway.pool)
    assert sorted(body["task_id"] for body in receiver.bodies) == sorted(f"t{number}" for number in range(40))


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


async def test_a_slow_receiver_is_given_up_on_and_holds_up_nobody_else(
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


# --- secrets ---------------------------------------------------------------------------------------------------------


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


# --- where to --------------------------------------------------------------------------------------------------------


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
    [delivery] = await settled(admin, hook)
    assert (delivery["state"], delivery["error"]) == ("failed", "target_not_allowed")
    assert receiver.got == []


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
