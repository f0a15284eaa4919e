"""Anthropic's Messages API through the proxy, as its clients send and read it."""

import json
from typing import Any

import httpx
import pytest

from purser.compose.demo.provider import Fault, FaultKind, FunctionCall, Reply, Rule, ToolCall
from purser.gateway.access.roles import Role
from tests.gateway.proxy.conftest import Proxy

BODY: dict[str, Any] = {
    "model": "gpt-4o",
    "max_tokens": 50,
    "system": "Be kind.",
    "messages": [{"role": "user", "content": [{"type": "text", "text": "hello there"}]}],
}
WEATHER = {"name": "weather", "input_schema": {"type": "object"}}


async def client(proxy: Proxy, role: Role = Role.AGENT) -> httpx.AsyncClient:
    """A client that authenticates as Anthropic's library does."""
    http = await proxy.gateway.client(role)
    http.headers["x-api-key"] = http.headers.pop("Authorization").removeprefix("Bearer ")
    http.headers.update({"anthropic-version": "2023-06-01", "Purser-Session": "s1"})
    http.headers["Purser-Api-Base"] = proxy.provider.api_base
    return http


async def send(http: httpx.AsyncClient, **change: Any) -> httpx.Response:
    return await http.post("/anthropic/v1/messages", json=BODY | change)


def events(answer: httpx.Response) -> list[dict[str, Any]]:
    """The events of a stream; each names itself twice."""
    found = []
    for block in answer.text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if lines:
            found.append(json.loads(lines["data"]))
            assert found[-1]["type"] == lines["event"]
    return found


async def test_a_reply_is_a_message_and_charged_as_served(proxy: Proxy) -> None:
    await proxy.limited(limit_tokens=5_000, mode="hard")
    answer = await send(await client(proxy))
    [served] = proxy.provider.served()
    message = answer.json()
    assert (message["type"], message["role"], message["stop_reason"]) == ("message", "assistant", "end_turn")
    assert message["content"] == [{"type": "text", "text": "You said 2 words, beginning with: hello there"}]
    assert message["usage"]["input_tokens"] + message["usage"]["output_tokens"] == served.charged_tokens
    assert await proxy.spent() == (served.charged_tokens, 0)
    assert served.arrival.messages == 2, "the system prompt is a message of its own"
    assert answer.headers["purser-hold-id"]


async def test_a_stream_has_the_events_of_a_message_in_their_order(proxy: Proxy) -> None:
    await proxy.limited(limit_tokens=5_000, mode="hard")
    proxy.provider.control.add_rule(Rule(reply=Reply(content="one two three four five six"), chunks=6))
    found = events(await send(await client(proxy), stream=True))
    [served] = proxy.provider.served()
    kinds = [event["type"] for event in found]
    deltas = [event["delta"]["text"] for event in found if event["type"] == "content_block_delta"]
    assert kinds[:2] == ["message_start", "content_block_start"]
    assert kinds[-3:] == ["content_block_stop", "message_delta", "message_stop"]
    assert set(kinds[2:-3]) == {"content_block_delta"}
    assert ("".join(deltas), len(deltas) > 1) == ("one two three four five six", True)
    assert found[-2]["delta"]["stop_reason"] == "end_turn"
    assert found[-2]["usage"]["input_tokens"] + found[-2]["usage"]["output_tokens"] == served.charged_tokens
    assert await proxy.spent() == (served.charged_tokens, 0)


async def test_text_and_tool_calls_are_blocks_of_their_own(proxy: Proxy) -> None:
    call = ToolCall(id="call_1", function=FunctionCall(name="weather", arguments='{"city": "Bern"}'))
    proxy.provider.control.add_rule(Rule(reply=Reply(content="I look.", tool_calls=(call,))))
    http = await client(proxy)
    whole = (await send(http, tools=[WEATHER], tool_choice={"type": "any"})).json()
    assert whole["stop_reason"] == "tool_use"
    assert whole["content"] == [
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "call_1", "name": "weather", "input": {"city": "Bern"}},
    ]
    found = events(await send(http, tools=[WEATHER], stream=True))
    starts = [event["content_block"]["type"] for event in found if event["type"] == "content_block_start"]
    inputs = [event["delta"].get("partial_json", "") for event in found if event["type"] == "content_block_delta"]
    assert starts == ["text", "tool_use"]
    assert [event["index"] for event in found if event["type"] == "content_block_stop"] == [0, 1]
    assert json.loads("".join(inputs)) == {"city": "Bern"}


async def test_results_of_tools_reach_the_model(proxy: Proxy) -> None:
    turns = [
        *BODY["messages"],
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "weather", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "Sunny."}]},
    ]
    answer = await send(await client(proxy), messages=turns, tools=[WEATHER])
    assert answer.status_code == 200
    assert proxy.provider.served()[0].arrival.messages == 4


async def test_a_count_is_what_a_hold_would_count_and_holds_nothing(proxy: Proxy) -> None:
    await proxy.limited(limit_tokens=1, mode="hard")
    http = await client(proxy)
    body = {name: value for name, value in BODY.items() if name != "max_tokens"}
    counted = (await http.post("/anthropic/v1/messages/count_tokens", json=body)).json()["input_tokens"]
    refused = (await send(http)).json()
    assert refused["error"]["purser"]["asked"]["tokens"] == counted + BODY["max_tokens"]
    assert await proxy.spent() == (0, 0)
    assert proxy.provider.served() == ()


async def test_a_refusal_is_402_in_the_words_of_anthropic(proxy: Proxy) -> None:
    await proxy.limited(limit_tokens=10, mode="hard")
    refused = await send(await client(proxy))
    error = refused.json()
    assert (refused.status_code, refused.headers["x-should-retry"]) == (402, "false")
    assert (error["type"], error["error"]["type"], error["error"]["code"]) == (
        "error",
        "billing_error",
        "budget_exceeded",
    )
    assert "session:s1 may spend 10 tokens" in error["error"]["message"]


async def test_a_reply_that_breaks_off_ends_its_stream_with_an_error(proxy: Proxy) -> None:
    proxy.provider.control.add_rule(Rule(reply=Reply(content="a b c d e f g h"), chunks=8))
    proxy.provider.control.add_fault(Fault(kind=FaultKind.DROP, after_chunks=3))
    found = events(await send(await client(proxy), stream=True))
    assert found[0]["type"] == "message_start"
    assert (found[-1]["type"], found[-1]["error"]["code"]) == ("error", "provider_connection_broken")


async def test_a_key_in_the_header_of_anthropic_is_a_key_like_any_other(proxy: Proxy) -> None:
    assert (await send(await client(proxy, Role.VIEWER))).status_code == 403
    http = await client(proxy)
    http.headers["x-api-key"] = "purser_made-up"
    assert (await send(http)).status_code == 401


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"max_tokens": None}, "max_tokens"),
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "user"}]}, "messages"),
        ({"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, "input_schema"),
        ({"system": 7}, "system"),
        ({"api_base": "https://evil.example"}, "api_base"),
        ({"mcp_servers": []}, "mcp_servers"),
    ],
)
async def test_a_bad_request_names_what_is_wrong_and_reaches_no_provider(
    proxy: Proxy, change: dict[str, Any], named: str
) -> None:
    refused = await send(await client(proxy), **change)
    assert (refused.status_code, refused.json()["error"]["type"]) == (422, "invalid_request_error")
    assert named in refused.json()["error"]["message"]
    assert proxy.provider.served() == ()
