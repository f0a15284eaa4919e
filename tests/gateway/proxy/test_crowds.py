"""One key that asks for much at the same time: what it may have in progress, and that others are served meanwhile."""

import asyncio
import gc
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
from starlette.requests import Request

from purser.activities.models.litellm_library import litellm_library
from purser.budget.approvals import Ticket
from purser.budget.postgres.approvals.approvals import Approvals
from purser.compose.settings import Settings
from purser.context.tokens import counting
from purser.gateway.access.roles import Role
from purser.gateway.proxy import held_call
from tests.gateway.conftest import RunningGateway, on, running_gateway
from tests.gateway.proxy.conftest import Proxy

CHAT, COUNT = "/openai/v1/chat/completions", "/anthropic/v1/messages/count_tokens"


@pytest.fixture
async def gateway(proxy_settings: Settings, dsn: str, task_queue: str) -> AsyncIterator[RunningGateway]:
    limits = {
        "large_bodies_per_key": 1,
        "call_bytes_per_key": 150_000,
        "call_bytes_per_tenant": 250_000,
        "waiting_calls_per_key": 1,
    }
    await asyncio.to_thread(litellm_library)  # which may take longer than clients wait
    with on(proxy_settings.model_copy(update=limits), dsn, task_queue) as settings:
        async with running_gateway(settings) as running:
            yield running


class Counting:
    """Counts of long texts, which last until a test ends them."""

    def __init__(self) -> None:
        self.begun = 0
        self.may_end = threading.Event()

    async def has_begun(self, count: int) -> None:
        """Returns once so many counts have begun."""
        async with asyncio.timeout(60):
            while self.begun < count:
                await asyncio.sleep(0.01)
        assert self.begun == count


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counting]:
    made, count = Counting(), counting._count

    def counted(*arguments: Any) -> counting.Count:
        if threading.current_thread() is not threading.main_thread():
            made.begun += 1
            assert made.may_end.wait(60)
        return count(*arguments)

    monkeypatch.setattr(counting, "_count", counted)
    yield made
    made.may_end.set()


async def client_of(proxy: Proxy, name: str, tenant: str = "default", **headers: str) -> httpx.AsyncClient:
    """A client with a key of its own."""
    client = await proxy.gateway.client(Role.AGENT, tenant, name)
    client.headers.update({"Purser-Api-Base": proxy.provider.api_base, "Purser-Session": "s1"} | headers)
    return client


def body(characters: int, text: str = "word ") -> dict[str, Any]:
    """A request with a prompt of so many characters."""
    content = text * (characters // len(text))
    return {"model": "gpt-4o", "max_tokens": 50, "messages": [{"role": "user", "content": content}]}


def to_count(characters: int) -> dict[str, Any]:
    """A request to count so many characters."""
    return {"model": "claude-sonnet-4-5", "messages": body(characters)["messages"]}


def check_refused(answer: httpx.Response, words: str) -> None:
    """Checks that a request may be sent again soon."""
    assert (answer.status_code, answer.headers["x-should-retry"]) == (429, "true")
    assert int(answer.headers["retry-after"]) >= 1
    assert words in answer.json()["error"]["message"]


async def test_the_bytes_of_calls_count_until_they_end_for_their_key_and_their_tenant(proxy: Proxy) -> None:
    one, two, three = [await client_of(proxy, name) for name in ("one", "two", "three")]
    elsewhere = await client_of(proxy, "four", "another")
    proxy.provider.control.hold(times=2)
    calls = [asyncio.create_task(one.post(CHAT, json=body(100_000)))]
    await proxy.provider.control.wait_held()
    check_refused(await one.post(CHAT, json=body(100_000)), "this key has in progress would exceed 150000 bytes")
    calls.append(asyncio.create_task(two.post(CHAT, json=body(100_000))))
    await proxy.provider.control.wait_held(2)
    check_refused(await three.post(CHAT, json=body(100_000)), "this tenant has in progress would exceed 250000 bytes")
    others = await one.post(CHAT, json=body(100)), await elsewhere.post(CHAT, json=body(100_000))
    assert [answer.status_code for answer in others] == [200, 200]
    proxy.provider.control.continue_held()
    assert [(await call).status_code for call in calls] == [200, 200]
    assert (await one.post(CHAT, json=body(100_000))).status_code == 200


@pytest.mark.parametrize("path", [CHAT, "/anthropic/v1/messages"])
async def test_the_bytes_of_a_body_are_not_kept_while_its_call_waits(proxy: Proxy, path: str) -> None:
    client = await client_of(proxy, "one")
    proxy.provider.control.hold()
    call = asyncio.create_task(client.post(path, json=body(100_000)))
    await proxy.provider.control.wait_held()
    requests = [one for one in gc.get_objects() if issubclass(type(one), Request) and one.scope["path"] == path]
    assert requests
    assert not any(hasattr(one, "_body") for one in requests)
    proxy.provider.control.continue_held()
    assert (await call).status_code == 200


async def test_a_large_body_keeps_its_place_until_it_is_counted(proxy: Proxy, counts: Counting) -> None:
    one, other = await client_of(proxy, "one"), await client_of(proxy, "other")
    first = asyncio.create_task(one.post(COUNT, json=to_count(100_000)))
    await counts.has_begun(1)
    check_refused(await one.post(COUNT, json=to_count(100_000)), "1 requests with a large body in progress")
    parallel = asyncio.create_task(other.post(COUNT, json=to_count(100_000)))
    await counts.has_begun(2)
    counts.may_end.set()
    answers = await first, await parallel, await one.post(COUNT, json=to_count(100_000))
    assert [answer.status_code for answer in answers] == [200] * 3


@pytest.mark.parametrize("headers", [{}, {"Purser-Window": "sliding_window"}], ids=["whole", "in a window"])
async def test_prompts_of_a_key_are_counted_one_after_the_other_beside_those_of_others(
    proxy: Proxy, counts: Counting, headers: dict[str, str]
) -> None:
    one, other = await client_of(proxy, "one", **headers), await client_of(proxy, "other")
    calls = [asyncio.create_task(one.post(CHAT, json=body(60_000))) for _ in range(2)]
    await counts.has_begun(1)
    calls.append(asyncio.create_task(other.post(CHAT, json=body(60_000))))
    await counts.has_begun(2)
    counts.may_end.set()
    assert [(await call).status_code for call in calls] == [200] * 3


async def test_texts_for_vectors_are_counted_in_turn_too(proxy: Proxy, counts: Counting) -> None:
    one, other = await client_of(proxy, "one"), await client_of(proxy, "other")
    texts = {"model": "text-embedding-3-small", "input": "word " * 11_000}
    calls = [asyncio.create_task(one.post("/openai/v1/embeddings", json=texts)) for _ in range(2)]
    await counts.has_begun(1)
    calls.append(asyncio.create_task(other.post("/openai/v1/embeddings", json=texts)))
    await counts.has_begun(2)
    counts.may_end.set()
    assert [(await call).status_code for call in calls] == [200] * 3


async def test_so_many_calls_of_a_key_wait(proxy: Proxy) -> None:
    admin = await proxy.limited(limit_tokens=10, mode="approval")
    one, other = await client_of(proxy, "one"), await client_of(proxy, "other")
    patient = {"Prefer": "wait=60"}
    waiting = asyncio.create_task(one.post(CHAT, json=body(100), headers=patient))
    await pending(admin)
    check_refused(await one.post(CHAT, json=body(200), headers=patient), "this key has 1 calls waiting")
    assert (await one.post(CHAT, json=body(200))).status_code == 402, "it does not wait"
    parallel = asyncio.create_task(other.post(CHAT, json=body(300), headers=patient))
    async with asyncio.timeout(60):
        while len((await admin.get("/v1/approvals?state=pending")).json()["items"][0]["waiters"]) < 3:
            await asyncio.sleep(0.05)
    for call in (waiting, parallel):
        assert not call.done()
        call.cancel()


async def test_a_decision_wakes_the_calls_that_wait_for_it(proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_call, "_UNDECIDED_S", 3_600)
    admin = await proxy.limited(limit_tokens=10, mode="approval")
    calls = []
    for name in ("one", "other"):
        client = await client_of(proxy, name)
        calls.append(asyncio.create_task(client.post(CHAT, json=body(100), headers={"Prefer": "wait=60"})))
    async with asyncio.timeout(60):
        while len((await pending(admin))["waiters"]) < 2:
            await asyncio.sleep(0.05)
    decision = {"decision_id": "d1", "decision": "approve"}
    path = f"/v1/approvals/{(await pending(admin))['approval_id']}/decision"
    (await admin.post(path, json=decision)).raise_for_status()
    assert [(await call).status_code for call in calls] == [200, 200]


async def test_a_key_asks_for_one_approval_at_a_time_beside_other_keys(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[str] = []
    may_end, request = asyncio.Event(), Approvals.request

    async def requested(*arguments: Any, **named: Any) -> Ticket:
        begun.append(named["submitter"])
        await may_end.wait()
        return await request(*arguments, **named)

    monkeypatch.setattr(Approvals, "request", requested)
    await proxy.limited(limit_tokens=10, mode="approval")
    one, other = await client_of(proxy, "one"), await client_of(proxy, "other")
    calls = [asyncio.create_task(one.post(CHAT, json=body(100 + size))) for size in range(0, 100, 5)]
    async with asyncio.timeout(60):
        while not begun:
            await asyncio.sleep(0.01)
        calls.append(asyncio.create_task(other.post(CHAT, json=body(300))))
        while "other" not in begun:
            await asyncio.sleep(0.01)
    assert begun == ["one", "other"]
    may_end.set()
    assert {(await call).status_code for call in calls} == {402}


async def pending(admin: httpx.AsyncClient) -> dict[str, Any]:
    """The request for approval that is pending."""
    async with asyncio.timeout(60):
        while not (found := (await admin.get("/v1/approvals?state=pending")).json()["items"]):
            await asyncio.sleep(0.05)
    return dict(found[0])
