"""The OpenAI protocol, as clients see it."""

import asyncio
import json
from typing import Any

import httpx
import openai
import pytest
from openai import AsyncOpenAI
from openai.types import CompletionUsage
from openai.types.chat import ChatCompletion, ChatCompletionChunk, ChatCompletionMessageParam

from purser.compose.demo.provider import FunctionCall, Match, Provider, Reply, Rule, ToolCall, Usage, serve_provider

QUESTION: list[ChatCompletionMessageParam] = [{"role": "user", "content": "How much is left of my budget?"}]
WEATHER = Reply(
    content="Let me look.",
    tool_calls=(
        ToolCall(id="call_1", function=FunctionCall(name="get_weather", arguments='{"city": "Zürich"}')),
        ToolCall(id="call_2", function=FunctionCall(name="get_time", arguments="{}")),
    ),
)


async def whole(client: AsyncOpenAI, **options: Any) -> ChatCompletion:
    answer = await client.chat.completions.create(model="m", messages=options.pop("messages", QUESTION), **options)
    assert isinstance(answer, ChatCompletion)
    return answer


async def streamed(client: AsyncOpenAI, **options: Any) -> list[ChatCompletionChunk]:
    options.setdefault("stream_options", {"include_usage": True})
    messages = options.pop("messages", QUESTION)
    return [
        chunk
        async for chunk in await client.chat.completions.create(model="m", messages=messages, stream=True, **options)
    ]


def text_of(chunks: list[ChatCompletionChunk]) -> str:
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


def finish_of(chunks: list[ChatCompletionChunk]) -> list[str]:
    return [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices and chunk.choices[0].finish_reason]


def usage_of(answer: ChatCompletion | ChatCompletionChunk) -> CompletionUsage:
    assert answer.usage is not None
    return answer.usage


def cached(usage: CompletionUsage) -> int:
    assert usage.prompt_tokens_details is not None
    assert usage.prompt_tokens_details.cached_tokens is not None
    return usage.prompt_tokens_details.cached_tokens


async def test_an_unscripted_model_answers_the_same_question_in_the_same_way(client: AsyncOpenAI) -> None:
    first, second = await whole(client), await whole(client)
    assert first.choices[0].message.content == second.choices[0].message.content
    assert "How much is left of my budget?" in (first.choices[0].message.content or "")
    assert first.choices[0].finish_reason == "stop"
    assert first.model == "m"


async def test_a_stream_carries_the_same_answer_and_usage_as_the_whole(client: AsyncOpenAI) -> None:
    one, chunks = await whole(client), await streamed(client)
    assert text_of(chunks) == one.choices[0].message.content
    assert finish_of(chunks) == ["stop"]
    assert usage_of(chunks[-1]) == usage_of(one)
    assert not chunks[-1].choices


async def test_usage_adds_up(client: AsyncOpenAI, provider: Provider) -> None:
    answer = await whole(client)
    usage = usage_of(answer)
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens
    # Seven words and a question mark, 4 tokens for the message, 3 for the request.
    assert usage.prompt_tokens == 8 + 4 + 3
    assert provider.served()[0].charged_tokens == usage.total_tokens


async def test_a_stream_reports_usage_only_when_asked(client: AsyncOpenAI, provider: Provider) -> None:
    chunks = await streamed(client, stream_options={"include_usage": False})
    assert all(chunk.usage is None and chunk.choices for chunk in chunks)
    end = provider.served()[0].end
    assert end is not None
    assert end.usage is None
    assert end.produced_tokens > 0


async def test_a_repeated_prefix_is_cached_in_whole_blocks_of_128(client: AsyncOpenAI) -> None:
    policy: ChatCompletionMessageParam = {"role": "system", "content": "Never spend what you do not have. " * 60}
    first = usage_of(await whole(client, messages=[policy, *QUESTION]))
    longer = [policy, *QUESTION, {"role": "assistant", "content": "Nothing. " * 200}, {"role": "user", "content": "?"}]
    second = usage_of(await whole(client, messages=longer))
    third = usage_of(await whole(client, messages=longer))
    assert cached(first) == 0
    assert cached(second) == first.prompt_tokens // 128 * 128 > 0
    assert cached(third) == third.prompt_tokens // 128 * 128 > cached(second)


async def test_conversations_share_no_cache(provider: Provider) -> None:
    policy: list[ChatCompletionMessageParam] = [{"role": "user", "content": "The same long text. " * 100}]
    for agent in ("a1", "a2"):
        async with AsyncOpenAI(base_url=provider.api_base_of("r1", agent), api_key="any") as client:
            assert cached(usage_of(await whole(client, messages=policy))) == 0


async def test_tool_calls_come_whole_and_as_deltas(client: AsyncOpenAI, provider: Provider) -> None:
    provider.control.add_rule(Rule(reply=WEATHER, chunks=1000))
    answer = (await whole(client)).choices[0]
    assert answer.finish_reason == "tool_calls"
    assert [call.model_dump(exclude_none=True) for call in answer.message.tool_calls or []] == [
        call.model_dump() for call in WEATHER.tool_calls
    ]
    chunks = await streamed(client)
    assert finish_of(chunks) == ["tool_calls"]
    assert text_of(chunks) == "Let me look."
    gathered: dict[int, list[str]] = {}
    for chunk in chunks:
        for delta in chunk.choices[0].delta.tool_calls or [] if chunk.choices else []:
            assert delta.function is not None
            parts = gathered.setdefault(delta.index, ["", "", ""])
            parts[0] += delta.id or ""
            parts[1] += delta.function.name or ""
            parts[2] += delta.function.arguments or ""
    assert gathered == {
        0: ["call_1", "get_weather", '{"city": "Zürich"}'],
        1: ["call_2", "get_time", "{}"],
    }


async def test_tool_calls_without_text_have_no_content(client: AsyncOpenAI, provider: Provider) -> None:
    provider.control.add_rule(Rule(reply=Reply(tool_calls=WEATHER.tool_calls)))
    assert (await whole(client)).choices[0].message.content is None


@pytest.mark.parametrize("cap", ["max_tokens", "max_completion_tokens"])
async def test_a_cap_cuts_the_completion_to_exactly_that_many_tokens(
    client: AsyncOpenAI, provider: Provider, cap: str
) -> None:
    provider.control.add_rule(Rule(reply=Reply(content="one two three four five six seven eight")))
    answer = await whole(client, **{cap: 3})
    assert answer.choices[0].finish_reason == "length"
    assert answer.choices[0].message.content == "one two three"
    assert usage_of(answer).completion_tokens == 3
    assert finish_of(await streamed(client, **{cap: 3})) == ["length"]
    assert (await whole(client, **{cap: 8})).choices[0].finish_reason == "stop"


async def test_a_cap_cuts_tool_calls_too(client: AsyncOpenAI, provider: Provider) -> None:
    provider.control.add_rule(Rule(reply=Reply(tool_calls=WEATHER.tool_calls)))
    answer = await whole(client, max_tokens=4)
    assert answer.choices[0].finish_reason == "length"
    assert usage_of(answer).completion_tokens == 4
    (call,) = answer.choices[0].message.tool_calls or []
    with pytest.raises(json.JSONDecodeError):
        json.loads(call.model_dump()["function"]["arguments"])


async def test_reasoning_is_counted_when_asked_for_and_comes_out_of_the_cap(client: AsyncOpenAI) -> None:
    plain = usage_of(await whole(client))
    thought = usage_of(await whole(client, reasoning_effort="low"))
    assert thought.completion_tokens_details is not None
    assert thought.completion_tokens_details.reasoning_tokens == 64
    assert thought.completion_tokens == plain.completion_tokens + 64
    starved = await whole(client, reasoning_effort="high", max_completion_tokens=10)
    assert starved.choices[0].finish_reason == "length"
    assert starved.choices[0].message.content == ""
    assert usage_of(starved).completion_tokens == 10


@pytest.mark.parametrize("text", ["花费预算之前先留出预算。", "👩‍👩‍👧‍👦 naïve 🇨🇭", "<|endoftext|> is text"])
async def test_no_character_is_torn_whatever_the_chunks(client: AsyncOpenAI, provider: Provider, text: str) -> None:
    provider.control.add_rule(Rule(reply=Reply(content=text), chunks=1000))
    assert text_of(await streamed(client)) == text


async def test_a_rule_answers_by_model_and_by_the_last_message(client: AsyncOpenAI, provider: Provider) -> None:
    provider.control.add_rule(Rule(match=Match(model="m", text="budget"), reply=Reply(content="Nothing.")))
    assert (await whole(client)).choices[0].message.content == "Nothing."
    other = await client.chat.completions.create(model="other", messages=QUESTION)
    assert other.choices[0].message.content != "Nothing."
    asked_else = await whole(client, messages=[*QUESTION, {"role": "user", "content": "Who are you?"}])
    assert asked_else.choices[0].message.content != "Nothing."


async def test_a_rule_sets_the_number_of_chunks_and_the_usage(client: AsyncOpenAI, provider: Provider) -> None:
    usage = Usage(prompt_tokens=10_000, cached_tokens=9_000, completion_tokens=500)
    provider.control.add_rule(Rule(reply=Reply(content="a b c d e f"), chunks=3, usage=usage))
    chunks = await streamed(client)
    spoken = [chunk for chunk in chunks if chunk.choices and chunk.choices[0].delta.content]
    assert [chunk.choices[0].delta.content for chunk in spoken] == ["a b", " c d", " e f"]
    assert (usage_of(chunks[-1]).total_tokens, cached(usage_of(chunks[-1]))) == (10_500, 9_000)
    assert provider.served()[0].charged_tokens == 10_500


async def test_a_rule_may_leave_the_usage_out(client: AsyncOpenAI, provider: Provider) -> None:
    provider.control.add_rule(Rule(report_usage=False))
    assert (await whole(client)).usage is None
    assert (await streamed(client))[-1].usage is None


async def test_models_are_listed_under_every_path(client: AsyncOpenAI, http: httpx.AsyncClient) -> None:
    assert "gpt-4o" in [model.id async for model in client.models.list()]
    assert (await http.get("/r/r1/a1/v1/models")).json()["object"] == "list"


async def test_a_configured_key_must_be_sent() -> None:
    async with serve_provider(key="right") as provider:
        async with AsyncOpenAI(base_url=provider.api_base, api_key="wrong", max_retries=0) as client:
            with pytest.raises(openai.AuthenticationError):
                await whole(client)
            with pytest.raises(openai.AuthenticationError):
                await client.models.list()
        async with AsyncOpenAI(base_url=provider.api_base, api_key="right", max_retries=0) as client:
            assert (await whole(client)).choices
        assert [one.end and one.end.status for one in provider.served()] == [401, 200]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b"not json", "JSON"),
        (b'{"model": "m", "messages": []}', "messages"),
        (b'{"model": "m", "messages": [{"role": "tool", "content": "secret", "tool_call_id": "c"}]}', "messages"),
        (
            b'{"model": "m", "messages": [{"role": "assistant", "tool_calls": [{"id": "c", "function": '
            b'{"name": "f", "arguments": "{}"}}]}, {"role": "user", "content": "secret"}]}',
            "messages",
        ),
        (b'{"model": "m", "messages": [{"role": "user", "name": "secret name", "content": "x"}]}', "messages.0.name"),
        (
            b'{"model": "m", "messages": [{"role": "user", "name": "%b", "content": "x"}]}' % (b"n" * 65),
            "messages.0.name",
        ),
        (b'{"messages": [{"role": "user", "content": "secret"}]}', "model"),
        (b'{"model": "m", "messages": [{"role": "user", "content": "secret"}], "max_tokens": 0}', "max_tokens"),
        (b'{"model": "m", "messages": [{"role": "user", "content": "secret"}], "n": 2}', "n"),
    ],
)
async def test_an_invalid_request_is_refused_by_field_without_repeating_its_text(
    http: httpx.AsyncClient, provider: Provider, body: bytes, field: str
) -> None:
    answer = await http.post("/v1/chat/completions", content=body)
    assert answer.status_code == 400
    assert field in answer.json()["error"]["message"]
    assert "secret" not in answer.text
    assert [one.end and one.end.status for one in provider.served()] == [400]


async def test_an_incomplete_request_is_ignored(
    provider: Provider, client: AsyncOpenAI, caplog: pytest.LogCaptureFixture
) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", int(provider.address.rpartition(":")[2]))
    writer.write(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
    await writer.drain()
    writer.close()
    await writer.wait_closed()
    assert (await whole(client)).choices
    assert len(provider.served()) == 1
    assert "Exception" not in caplog.text
