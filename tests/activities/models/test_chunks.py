"""Choices read from the wire: what LiteLLM would make of them, without its work."""

import asyncio
import json
from contextlib import aclosing
from types import SimpleNamespace
from typing import Any

import httpx
import openai
import pytest

from purser.activities.errors import ProviderUnavailable
from purser.activities.models.chunks import choices_of


def read(*chunks: dict[str, Any]) -> tuple[list[dict[str, Any]], list[Any]]:
    """The choices and usage blocks of a stream of these chunks."""
    sent = b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks) + b"data: [DONE]\n\n"
    usage: list[Any] = []

    async def run() -> list[dict[str, Any]]:
        response = httpx.Response(200, content=sent, request=httpx.Request("POST", "http://provider"))
        http = httpx.AsyncClient(verify=False)
        client = openai.AsyncOpenAI(api_key="none", base_url="http://provider", http_client=http)
        wire = openai.AsyncStream[Any](cast_to=object, response=response, client=client)
        async with aclosing(choices_of(SimpleNamespace(completion_stream=wire), "openai", usage.append)) as choices:
            return [choice async for choice in choices]

    return asyncio.run(run()), usage


def chunk(delta: Any, finish_reason: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason, "logprobs": None}]}


def test_a_choice_has_what_the_provider_sent_without_nulls() -> None:
    found, usage = read(
        chunk({"role": "assistant", "content": None, "reasoning_content": "hm", "own": {"a": 1}}),
        chunk({"content": "hi"}),
        chunk({}, "length"),
        {"choices": [], "usage": {"prompt_tokens": 3}},
    )
    assert found == [
        {"index": 0, "delta": {"role": "assistant", "reasoning_content": "hm", "own": {"a": 1}}},
        {"index": 0, "delta": {"content": "hi"}},
        {"index": 0, "delta": {}, "finish_reason": "length"},
    ]
    assert usage == [{"prompt_tokens": 3}]


def test_a_reply_that_stops_at_tool_calls_says_so() -> None:
    call = {"index": 0, "id": "c1", "function": {"name": "add", "arguments": "{}"}}
    found, _ = read(chunk({"tool_calls": [call]}), chunk({}, "stop"))
    assert [choice.get("finish_reason") for choice in found] == [None, "tool_calls"]


def call(index: int | None, arguments: str, call_id: str | None = None, name: str | None = None) -> dict[str, Any]:
    sent = {"index": index, "id": call_id, "function": {"name": name, "arguments": arguments}}
    return chunk({"tool_calls": [sent]})


@pytest.mark.parametrize(
    "sent",
    [
        [call(0, "{", "c1", "add"), call(1, "[", "c2", "sub"), call(0, "}"), call(1, "]")],
        [call(0, "{}", "c1", "add"), call(0, "[]", "c2", "sub")],  # each call whole, all with the same index
        [call(None, "{", "c1", "add"), call(None, "}"), call(None, "[", "c2", "sub"), call(None, "]")],
        [call(None, "{}", None, "add"), call(None, "[]", None, "add")],
        [call(0, "{", "c1", "add"), call(0, "}", "c1", "add"), call(1, "[]", "c2", "add")],  # repeats what it has said
        [call(0, "", "c1"), call(0, "{}", "c1", "add"), call(1, "[]", "c2", "sub")],
    ],
)
def test_each_tool_call_has_a_number_of_its_own(sent: list[dict[str, Any]]) -> None:
    arguments = dict[int, str]()
    for choice in read(*sent)[0]:
        for delta in choice["delta"]["tool_calls"]:
            arguments[delta["index"]] = arguments.get(delta["index"], "") + delta["function"]["arguments"]
    assert arguments == {0: "{}", 1: "[]"}


def test_reasons_of_other_servers_are_those_of_the_openai_api() -> None:
    assert [read(chunk({}, reason))[0][0]["finish_reason"] for reason in ("eos", "max_tokens")] == ["stop", "length"]


@pytest.mark.parametrize(
    "sent",
    [
        chunk({"content": ["a", "part"]}),
        chunk({"tool_calls": [{"index": 0}]}),
        chunk({"tool_calls": [{"index": 0, "function": {"arguments": {"a": 1}}}]}),
        {"error": {"message": "out of order", "code": 429}},
    ],
)
def test_what_is_no_reply_is_an_error(sent: dict[str, Any]) -> None:
    with pytest.raises((ValueError, ProviderUnavailable), match=r"Expected|required field|server_error"):
        read(sent)
