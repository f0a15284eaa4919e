"""Calls that are sent again: what they join, and what they do not ask for a second time."""

import asyncio
import uuid
from typing import Any

import httpx
import openai
import pytest

from purser.gateway.access.roles import Role
from tests.gateway.conftest import RunningGateway
from tests.gateway.proxy.conftest import HELLO, Proxy, RawProvider

CALL: Any = {"model": "gpt-4o", "messages": HELLO, "max_tokens": 100}
LONG = "alpha beta gamma delta " * 150


async def asks(client: openai.AsyncOpenAI, **change: Any) -> str:
    """Id of the request for approval that a call joins."""
    with pytest.raises(openai.APIStatusError) as refused:
        await client.chat.completions.create(**(CALL | change))
    error: Any = refused.value.body
    assert (refused.value.status_code, error["code"]) == (402, "approval_required")
    return str(error["purser"]["approval_id"])


async def shown(admin: httpx.AsyncClient, approval_id: str) -> tuple[int, int]:
    """Tokens for which a request asks, and how many calls wait for it."""
    found = (await admin.get(f"/v1/approvals/{approval_id}")).json()
    return found["asked"]["tokens"], len(found["waiters"])


async def verdicts(admin: httpx.AsyncClient, proxy: Proxy) -> float:
    """How often the gate has said `ask`."""
    lines = (await admin.get(proxy.gateway.metrics_url)).text.splitlines()
    return sum(float(line.split()[-1]) for line in lines if "decisions_total{" in line and 'verdict="ask"' in line)


async def decide(admin: httpx.AsyncClient, approval_id: str, decision: str) -> None:
    body = {"decision_id": str(uuid.uuid4()), "decision": decision}
    (await admin.post(f"/v1/approvals/{approval_id}/decision", json=body)).raise_for_status()


async def test_a_call_that_is_sent_again_asks_for_its_shortage_once(proxy: Proxy) -> None:
    admin = await proxy.limited(limit_tokens=50, mode="approval")
    client = await proxy.openai(purser_session="s1")
    first = await asks(client)
    once = await shown(admin, first)
    for _ in range(3):
        assert await asks(client) == first
    assert await shown(admin, first) == once
    await decide(admin, first, "approve")
    reply = await client.chat.completions.create(**CALL)
    assert reply.usage is not None
    assert await proxy.spent() == (reply.usage.total_tokens, 0)
    left = 50 + once[0] - reply.usage.total_tokens
    again = await asks(client, max_tokens=left)
    assert again != first, "a call that has ended is a call of its own"


@pytest.mark.parametrize(
    "change",
    [
        {"max_tokens": 101},
        {"temperature": 0.5},
        {"extra_headers": {"Purser-Task": "t2"}},
        {"extra_headers": {"Idempotency-Key": "k"}},
    ],
)
async def test_another_call_waits_for_itself(proxy: Proxy, change: dict[str, Any]) -> None:
    admin = await proxy.limited(limit_tokens=50, mode="approval")
    client = await proxy.openai(purser_session="s1")
    request = await asks(client)
    assert await asks(client, **change) == request
    assert (await shown(admin, request))[1] == 2


async def test_the_same_call_of_another_key_waits_for_itself(proxy: Proxy) -> None:
    admin = await proxy.limited(limit_tokens=50, mode="approval")
    request = await asks(await proxy.openai(purser_session="s1"))
    assert await asks(await proxy.openai(purser_session="s1")) == request
    assert (await shown(admin, request))[1] == 2


async def test_equal_calls_at_the_same_time_run_and_are_charged_each(proxy: Proxy) -> None:
    await proxy.limited(limit_tokens=50_000, mode="approval")
    client = await proxy.openai(purser_session="s1")
    proxy.provider.control.hold(times=2)

    async def call() -> Any:
        return await client.chat.completions.with_raw_response.create(**CALL)

    calls = [asyncio.create_task(call()) for _ in range(2)]
    async with asyncio.timeout(30):
        await proxy.provider.control.wait_held(2)
    proxy.provider.control.continue_held()
    replies = [await each for each in calls]
    assert len({reply.headers["purser-hold-id"] for reply in replies}) == 2
    assert await proxy.spent() == (sum(reply.parse().usage.total_tokens for reply in replies), 0)


async def test_a_call_that_waits_beside_an_equal_one_is_denied_with_it(proxy: Proxy) -> None:
    admin = await proxy.limited(limit_tokens=50, mode="approval")
    request = await asks(client := await proxy.openai(purser_session="s1"))
    before = await verdicts(admin, proxy)
    calling = asyncio.create_task(client.chat.completions.create(**CALL, extra_headers={"Prefer": "wait=60"}))
    async with asyncio.timeout(30):
        while await verdicts(admin, proxy) == before:
            await asyncio.sleep(0.05)
    await decide(admin, request, "deny")
    with pytest.raises(openai.APIStatusError) as refused:
        await calling
    assert refused.value.code == "budget_exceeded"
    assert (await admin.get("/v1/approvals?state=pending")).json()["items"] == []


async def test_a_key_keeps_its_call_when_counts_of_its_model_have_moved(
    gateway: RunningGateway, raw_provider: RawProvider
) -> None:
    raw_provider.body = (
        b'data: {"id": "1", "choices": [{"index": 0, "delta": {"content": "hi"}, "finish_reason": "stop"}]}\n\n'
        b'data: {"id": "1", "choices": [], "usage": {"prompt_tokens": 900, "completion_tokens": 1}}\n\ndata: [DONE]\n\n'
    )
    http = await gateway.client(Role.AGENT)
    http.headers.update({"Purser-Session": "s1", "Purser-Api-Base": raw_provider.api_base, "Idempotency-Key": "k"})
    body = {"model": "claude-sonnet-4-5", "messages": [{"role": "user", "content": LONG}], "max_tokens": 100}
    path = "/openai/v1/chat/completions"
    answers = [await http.post(path, json=body) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200] * 3
    assert await gateway.pool.fetchval("select count(*) from token_calibrations where calls = 3") == 1
    other = await http.post(path, json=body | {"temperature": 0.5})
    assert (other.status_code, other.json()["error"]["code"]) == (422, "idempotency_mismatch")
