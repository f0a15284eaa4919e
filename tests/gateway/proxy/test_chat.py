"""OpenAI's own client with another `base_url`: what it gets, how often it asks, and that charged equals served."""

import asyncio
from typing import Any

import openai
import pytest

from purser.compose.demo.provider import Fault, FaultKind, FunctionCall, Reply, Rule, ToolCall
from tests.gateway.proxy.conftest import HELLO, Proxy


async def eventually_ended(proxy: Proxy) -> int:
    """Tokens that are spent once nothing is held."""
    async with asyncio.timeout(30):
        while True:
            spent, held = await proxy.spent()
            if not held:
                return spent
            await asyncio.sleep(0.05)


async def test_a_reply_is_charged_as_the_provider_served_it(proxy: Proxy) -> None:
    await proxy.limited(limit_tokens=50_000, mode="hard")
    client = await proxy.openai(purser_session="s1")
    raw = await client.chat.completions.with_raw_response.create(model="gpt-4o", messages=HELLO, max_tokens=50)
    reply = raw.parse()
    [served] = proxy.provider.served()
    assert reply.choices[0].message.content == "You said 2 words, beginning with: hello there"
    assert reply.choices[0].finish_reason == "stop"
    assert reply.usage is not None
    assert reply.usage.total_tokens == served.charged_tokens
    assert await proxy.spent() == (served.charged_tokens, 0)
    assert served.arrival.request_id == f"{raw.headers['purser-hold-id']}-1"
    assert raw.headers["purser-scope"] == "session:s1"
    assert raw.headers["purser-max-tokens"] == "50"
    assert int(raw.headers["purser-remaining-tokens"]) == 50_000 - served.arrival.prompt_tokens - 50
    assert int(raw.headers["purser-cost-nano-usd"]) == 1_000 * reply.usage.prompt_tokens + 4_000 * (
        reply.usage.completion_tokens
    )


@pytest.mark.parametrize("usage", [False, True])
async def test_a_streamed_reply_arrives_in_parts_and_reports_usage_if_it_is_asked_for(
    proxy: Proxy, usage: bool
) -> None:
    await proxy.limited(limit_tokens=50_000, mode="hard")
    proxy.provider.control.add_rule(Rule(reply=Reply(content="one two three four five six"), chunks=6))
    client = await proxy.openai(purser_session="s1")
    options: Any = {"stream_options": {"include_usage": True}} if usage else {}
    stream = await client.chat.completions.create(model="gpt-4o", messages=HELLO, max_tokens=50, stream=True, **options)
    chunks = [chunk async for chunk in stream]
    [served] = proxy.provider.served()
    parts = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices and chunk.choices[0].delta.content]
    assert "".join(parts) == "one two three four five six"
    assert len(parts) > 1
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert [chunk.usage.total_tokens for chunk in chunks if chunk.usage] == [served.charged_tokens] * usage
    assert await proxy.spent() == (served.charged_tokens, 0)


async def test_tool_calls_pass_streamed_and_not(proxy: Proxy) -> None:
    call = ToolCall(id="call_1", function=FunctionCall(name="weather", arguments='{"city": "Bern"}'))
    proxy.provider.control.add_rule(Rule(reply=Reply(tool_calls=(call,))))
    client = await proxy.openai(purser_session="s1")
    tools: Any = [
        {"type": "function", "function": {"name": "weather", "strict": True, "parameters": {"type": "object"}}}
    ]
    whole = await client.chat.completions.create(model="gpt-4o", messages=HELLO, tools=tools)
    assert whole.choices[0].finish_reason == "tool_calls"
    assert whole.choices[0].message.tool_calls is not None
    [called] = whole.choices[0].message.tool_calls
    assert called.type == "function"
    assert (called.id, called.function.name, called.function.arguments) == ("call_1", "weather", '{"city": "Bern"}')
    async with client.chat.completions.stream(model="gpt-4o", messages=HELLO, tools=tools) as stream:
        last = (await stream.get_final_completion()).choices[0]
    assert last.message.tool_calls is not None
    assert last.message.tool_calls[0].function.arguments == '{"city": "Bern"}'


async def test_a_refusal_is_402_with_its_figures_and_is_asked_for_once(proxy: Proxy) -> None:
    await proxy.limited(limit_tokens=10, mode="hard")
    client = await proxy.openai(purser_session="s1")
    with pytest.raises(openai.APIStatusError) as refused:
        await client.chat.completions.create(model="gpt-4o", messages=HELLO, max_tokens=50)
    error: Any = refused.value.body
    assert refused.value.status_code == 402
    assert refused.value.response.headers["x-should-retry"] == "false"
    assert (error["type"], error["code"]) == ("insufficient_quota", "budget_exceeded")
    assert error["purser"]["limit"]["tokens"] == 10
    assert "session:s1 may spend 10 tokens" in error["message"]
    assert proxy.requests == 1
    assert proxy.provider.served() == ()


async def test_what_a_person_must_approve_is_402_with_the_address_of_its_request(proxy: Proxy) -> None:
    admin = await proxy.limited(limit_tokens=10, mode="approval")
    client = await proxy.openai(purser_session="s1")
    with pytest.raises(openai.APIStatusError) as asks:
        await client.chat.completions.create(model="gpt-4o", messages=HELLO, max_tokens=50)
    [pending] = (await admin.get("/v1/approvals?state=pending")).json()["items"]
    error: Any = asks.value.body
    assert (asks.value.status_code, error["code"]) == (402, "approval_required")
    assert error["purser"]["approval_id"] == pending["approval_id"]
    assert asks.value.response.headers["purser-approval-url"].endswith(f"/approvals?id={pending['approval_id']}")
    assert proxy.requests == 1


async def test_a_call_that_prefers_to_wait_goes_on_once_a_person_approves(proxy: Proxy) -> None:
    admin = await proxy.limited(limit_tokens=10, mode="approval")
    client = await proxy.openai(purser_session="s1", prefer="wait=60")
    calling = asyncio.create_task(client.chat.completions.create(model="gpt-4o", messages=HELLO, max_tokens=50))
    async with asyncio.timeout(30):
        while not (pending := (await admin.get("/v1/approvals?state=pending")).json()["items"]):
            await asyncio.sleep(0.05)
    decision = {"decision_id": "d1", "decision": "approve"}
    (await admin.post(f"/v1/approvals/{pending[0]['approval_id']}/decision", json=decision)).raise_for_status()
    reply = await calling
    assert reply.usage is not None
    assert await proxy.spent() == (reply.usage.total_tokens, 0)


async def test_a_call_waits_for_others_and_is_429_if_they_take_too_long(proxy: Proxy) -> None:
    admin = await proxy.limited(limit_tokens=100, mode="hard")
    hold = {"key": "other", "path": ["session:s1"], "tokens": 90}
    held = (await admin.post("/v1/holds", json=hold)).json()
    impatient = (await proxy.openai(purser_session="s1", prefer="wait=0")).with_options(max_retries=0)
    with pytest.raises(openai.RateLimitError) as busy:
        await impatient.chat.completions.create(model="gpt-4o", messages=HELLO, max_tokens=50)
    headers = busy.value.response.headers
    assert busy.value.code == "budget_busy"
    assert headers["x-should-retry"] == "true"
    assert int(headers["retry-after"]) >= 1
    waiting = "select count(*) from waiters"
    assert await proxy.gateway.pool.fetchval(waiting) == 0, "it holds up no other"
    patient = await proxy.openai(purser_session="s1", prefer="wait=60")
    calling = asyncio.create_task(patient.chat.completions.create(model="gpt-4o", messages=HELLO, max_tokens=50))
    async with asyncio.timeout(30):
        while not await proxy.gateway.pool.fetchval(waiting):
            await asyncio.sleep(0.05)
    (await admin.post(f"/v1/holds/{held['hold_id']}/release")).raise_for_status()
    assert (await calling).choices[0].finish_reason == "stop"


async def test_a_frozen_scope_is_403(proxy: Proxy) -> None:
    await proxy.limited(frozen=True)
    client = await proxy.openai(purser_session="s1")
    with pytest.raises(openai.PermissionDeniedError) as refused:
        await client.chat.completions.create(model="gpt-4o", messages=HELLO)
    assert refused.value.code == "scope_frozen"


async def test_a_model_without_a_price_is_422_where_money_is_limited(proxy: Proxy) -> None:
    await proxy.limited(limit_nano_usd=1_000_000)
    client = await proxy.openai(purser_session="s1")
    with pytest.raises(openai.UnprocessableEntityError) as refused:
        await client.chat.completions.create(model="openai/unheard-of", messages=HELLO)
    assert refused.value.code == "unknown_price"


async def test_less_is_held_if_only_less_fits_and_the_request_allows_it(proxy: Proxy) -> None:
    await proxy.limited(limit_tokens=60, mode="hard")
    client = await proxy.openai(purser_session="s1", purser_min_output="5")
    raw = await client.chat.completions.with_raw_response.create(model="gpt-4o", messages=HELLO, max_tokens=500)
    [served] = proxy.provider.served()
    assert int(raw.headers["purser-max-tokens"]) == 60 - served.arrival.prompt_tokens
    assert await proxy.spent() == (served.charged_tokens, 0)


async def test_a_client_that_leaves_a_stream_pays_for_what_was_produced(proxy: Proxy) -> None:
    await proxy.limited(limit_tokens=50_000, mode="hard")
    words = " ".join(f"word{number}" for number in range(40))
    proxy.provider.control.add_rule(Rule(reply=Reply(content=words), chunks=40))
    proxy.provider.control.add_fault(Fault(kind=FaultKind.HANG, after_chunks=7))
    client = await proxy.openai(purser_session="s1")
    stream = await client.chat.completions.create(model="gpt-4o", messages=HELLO, max_tokens=400, stream=True)
    seen = ""
    async for chunk in stream:
        seen += (chunk.choices[0].delta.content or "") if chunk.choices else ""
        if "word5" in seen:
            break
    await stream.close()
    spent = await eventually_ended(proxy)
    async with asyncio.timeout(30):
        end = await proxy.provider.log.end_of(1)
    [served] = proxy.provider.served()
    assert end.client_gone
    assert spent == served.arrival.prompt_tokens + end.produced_tokens


async def test_a_client_that_leaves_before_a_whole_reply_cancels_it(proxy: Proxy) -> None:
    await proxy.limited(limit_tokens=50_000, mode="hard")
    proxy.provider.control.add_fault(Fault(kind=FaultKind.HANG, after_chunks=0))
    client = await proxy.openai(purser_session="s1")
    calling = asyncio.create_task(client.chat.completions.create(model="gpt-4o", messages=HELLO, max_tokens=400))
    async with asyncio.timeout(30):
        while not proxy.provider.served():
            await asyncio.sleep(0.02)
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    async with asyncio.timeout(30):
        assert (await proxy.provider.log.end_of(1)).client_gone
    assert await eventually_ended(proxy) == proxy.provider.served()[0].arrival.prompt_tokens


@pytest.mark.parametrize(
    ("kind", "status"),
    [(FaultKind.RATE_LIMITED, 429), (FaultKind.SERVER_ERROR, 500), (FaultKind.UNAVAILABLE, 503)],
)
async def test_a_failed_request_is_tried_again_by_the_client_as_a_call_of_its_own(
    proxy: Proxy, kind: FaultKind, status: int
) -> None:
    await proxy.limited(limit_tokens=50_000, mode="hard")
    proxy.provider.control.add_fault(Fault(kind=kind, retry_after_ms=10))
    client = await proxy.openai(purser_session="s1")
    reply = await client.chat.completions.create(model="gpt-4o", messages=HELLO, max_tokens=50)
    assert [one.end.status for one in proxy.provider.served() if one.end] == [status, 200]
    assert reply.usage is not None
    # A provider that failed may have worked: only a refused request surely cost nothing.
    presumed = 0 if kind is FaultKind.RATE_LIMITED else proxy.provider.served()[0].arrival.prompt_tokens + 50
    assert await proxy.spent() == (presumed + reply.usage.total_tokens, 0)


async def test_a_reply_that_breaks_off_is_an_error_in_the_stream_and_is_presumed(proxy: Proxy) -> None:
    await proxy.limited(limit_tokens=50_000, mode="hard")
    proxy.provider.control.add_rule(Rule(reply=Reply(content="a b c d e f g h"), chunks=8))
    proxy.provider.control.add_fault(Fault(kind=FaultKind.DROP, after_chunks=3))
    client = await proxy.openai(purser_session="s1")
    stream = await client.chat.completions.create(model="gpt-4o", messages=HELLO, max_tokens=50, stream=True)
    with pytest.raises(openai.APIError, match="connection_broken"):
        _ = [chunk async for chunk in stream]
    [served] = proxy.provider.served()
    assert await proxy.spent() == (served.arrival.prompt_tokens + 50, 0)


async def test_the_same_idempotency_key_is_a_few_calls_in_turn_and_none_of_another_request(proxy: Proxy) -> None:
    await proxy.limited(limit_tokens=50_000, mode="hard")
    client = await proxy.openai(purser_session="s1", idempotency_key="order-1")
    for _ in range(4):
        await client.chat.completions.create(model="gpt-4o", messages=HELLO, max_tokens=50)
    assert await proxy.spent() == (sum(served.charged_tokens for served in proxy.provider.served()), 0)
    with pytest.raises(openai.UnprocessableEntityError) as ended:
        await client.chat.completions.create(model="gpt-4o", messages=HELLO, max_tokens=50)
    assert ended.value.code == "hold_closed"
    with pytest.raises(openai.UnprocessableEntityError) as reused:
        await client.chat.completions.create(model="gpt-4o", messages=HELLO, max_tokens=51)
    assert reused.value.code == "idempotency_mismatch"


@pytest.mark.parametrize("ladder", [[], [{"ratio": 0.5, "model": ["gpt-4o-mini"], "output": 300}]])
async def test_a_repeated_key_whose_first_call_ends_before_it_is_sent_is_a_call_of_its_own(
    proxy: Proxy, ladder: list[dict[str, Any]]
) -> None:
    await proxy.limited(limit_tokens=1_000, ladder=ladder, backpressure=[{"ratio": 0.01, "delay_ms": 1_500}])
    proxy.provider.control.hold()
    client = (await proxy.openai(purser_session="s1", idempotency_key="order-1")).with_options(max_retries=0)

    async def ask() -> Any:
        return await client.chat.completions.with_raw_response.create(model="gpt-4o", messages=HELLO, max_tokens=900)

    first = asyncio.create_task(ask())
    await proxy.provider.control.wait_held()
    again = asyncio.create_task(ask())
    await asyncio.sleep(0.3)  # it has joined the hold, and waits for its delay
    proxy.provider.control.continue_held()
    replies = [await first, await again]
    assert len({reply.headers["purser-hold-id"] for reply in replies}) == 2
    assert len({(reply.headers.get("purser-ladder"), reply.headers["purser-max-tokens"]) for reply in replies}) == 1
    assert await proxy.spent() == (sum(reply.parse().usage.total_tokens for reply in replies), 0)


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("frozen", [False, True])
async def test_a_reply_whose_hold_the_database_has_lost_arrives_and_is_charged_unless_the_budget_refuses(
    proxy: Proxy, streams: bool, frozen: bool
) -> None:
    admin = await proxy.limited(limit_tokens=50_000, mode="hard")
    proxy.provider.control.hold()
    client = await proxy.openai(purser_session="s1")

    async def call() -> str:
        if not streams:
            reply = await client.chat.completions.create(model="gpt-4o", messages=HELLO, max_tokens=50)
            return reply.choices[0].message.content or ""
        chunks = await client.chat.completions.create(model="gpt-4o", messages=HELLO, max_tokens=50, stream=True)
        return "".join([chunk.choices[0].delta.content or "" async for chunk in chunks if chunk.choices])

    calling = asyncio.create_task(call())
    await proxy.provider.control.wait_held()
    await proxy.gateway.pool.execute("delete from attempts")
    await proxy.gateway.pool.execute("delete from holds")
    if frozen:
        (await admin.put("/v1/budgets/session:s1", json={"frozen": True})).raise_for_status()
    proxy.provider.control.continue_held()
    assert await calling == "You said 2 words, beginning with: hello there"
    [served] = proxy.provider.served()
    assert (await proxy.spent())[0] == (0 if frozen else served.charged_tokens)


async def test_a_request_that_names_no_scope_pays_by_the_path_of_its_key(proxy: Proxy) -> None:
    admin = await proxy.limited(limit_tokens=50_000, mode="hard")
    client = await proxy.openai()
    [own] = [key for key in (await admin.get("/v1/keys")).json()["items"] if key["role"] == "agent"]
    (await admin.patch(f"/v1/keys/{own['key_id']}", json={"path": ["session:s1"]})).raise_for_status()
    reply = await client.chat.completions.create(model="gpt-4o", messages=HELLO, max_tokens=50)
    assert reply.usage is not None
    paid = reply.usage.total_tokens
    assert await proxy.spent() == (paid, 0)
    elsewhere = {"Purser-Session": "s2"}
    await client.chat.completions.create(model="gpt-4o", messages=HELLO, max_tokens=50, extra_headers=elsewhere)
    assert await proxy.spent() == (paid, 0)
