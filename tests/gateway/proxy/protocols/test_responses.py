"""OpenAI's `responses` through the proxy, as its own client sends and reads it."""

import json
from typing import Any

import openai
import pytest

from purser.budget.errors import InvalidRequest
from purser.compose.demo.provider import Fault, FaultKind, FunctionCall, Reply, Rule, ToolCall
from purser.gateway.proxy.protocols.responses_input import read_responses
from purser.gateway.proxy.verdicts import Unsupported
from tests.gateway.proxy.conftest import Proxy

WEATHER: Any = {"type": "function", "name": "weather", "parameters": {"type": "object"}, "strict": True}
CALL = ToolCall(id="call_1", function=FunctionCall(name="weather", arguments='{"city": "Bern"}'))


async def test_a_response_is_charged_as_the_provider_served_it(proxy: Proxy) -> None:
    await proxy.limited(limit_tokens=50_000, mode="hard")
    client = await proxy.openai(purser_session="s1")
    raw = await client.responses.with_raw_response.create(
        model="gpt-4o",
        instructions="Be kind.",
        input="hello there",
        max_output_tokens=50,
        metadata={"of": "test"},
        temperature=0.5,
        top_p=0.9,
        parallel_tool_calls=False,
    )
    response = raw.parse()
    [served] = proxy.provider.served()
    assert response.output_text == "You said 2 words, beginning with: hello there"
    assert (response.status, response.incomplete_details, response.metadata) == ("completed", None, {"of": "test"})
    assert (response.temperature, response.top_p, response.parallel_tool_calls) == (0.5, 0.9, False)
    assert response.usage is not None
    assert response.usage.total_tokens == served.charged_tokens
    assert await proxy.spent() == (served.charged_tokens, 0)
    assert (served.arrival.messages, raw.headers["purser-max-tokens"]) == (2, "50")
    assert served.arrival.request_id == f"{raw.headers['purser-hold-id']}-1"


async def test_a_stream_has_the_events_that_make_the_response(proxy: Proxy) -> None:
    await proxy.limited(limit_tokens=50_000, mode="hard")
    proxy.provider.control.add_rule(Rule(reply=Reply(content="one two three four five six"), chunks=6))
    client = await proxy.openai(purser_session="s1")
    async with client.responses.stream(model="gpt-4o", input="hello there", max_output_tokens=50) as stream:
        events = [event async for event in stream]
        response = await stream.get_final_response()
    kinds = [event.type for event in events]
    assert kinds[:4] == [
        "response.created", "response.in_progress", "response.output_item.added", "response.content_part.added",
    ]  # fmt: skip
    assert kinds[-4:] == [
        "response.output_text.done", "response.content_part.done", "response.output_item.done", "response.completed",
    ]  # fmt: skip
    deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
    assert ("".join(deltas), len(deltas) > 1) == (response.output_text, True)
    assert [event.sequence_number for event in events] == list(range(len(events)))
    [served] = proxy.provider.served()
    assert response.usage is not None
    assert response.usage.total_tokens == served.charged_tokens
    assert await proxy.spent() == (served.charged_tokens, 0)


async def test_calls_of_tools_and_their_outputs_pass_streamed_and_not(proxy: Proxy) -> None:
    proxy.provider.control.add_rule(Rule(reply=Reply(content="I look.", tool_calls=(CALL,))))
    client = await proxy.openai(purser_session="s1")
    whole = await client.responses.create(model="gpt-4o", input="how is it?", tools=[WEATHER])
    async with client.responses.stream(model="gpt-4o", input="how is it?", tools=[WEATHER]) as stream:
        streamed = await stream.get_final_response()
    for response in (whole, streamed):
        said, called = response.output
        assert said.type == "message"
        assert called.type == "function_call"
        assert (called.call_id, called.name, json.loads(called.arguments)) == ("call_1", "weather", {"city": "Bern"})
    proxy.provider.control.clear()
    turns: Any = ["how is it?", *(item.to_dict() for item in whole.output)]
    turns[0] = {"role": "user", "content": [{"type": "input_text", "text": turns[0]}]}
    turns.append({"type": "function_call_output", "call_id": "call_1", "output": "Sunny."})
    answered = await client.responses.create(model="gpt-4o", input=turns, tools=[WEATHER])
    assert answered.status == "completed"
    assert proxy.provider.served()[-1].arrival.messages == 3, "question, call, output"


async def test_a_refusal_is_402_and_asked_for_once(proxy: Proxy) -> None:
    await proxy.limited(limit_tokens=10, mode="hard")
    client = await proxy.openai(purser_session="s1")
    for streams in (False, True):
        with pytest.raises(openai.APIStatusError, match="session:s1 may spend 10 tokens") as refused:
            await client.responses.create(model="gpt-4o", input="hello", max_output_tokens=50, stream=streams)
        assert (refused.value.status_code, refused.value.code) == (402, "budget_exceeded")
    assert proxy.requests == 2
    assert proxy.provider.served() == ()


async def test_a_reply_that_breaks_off_ends_its_stream_with_an_error_that_clients_raise(proxy: Proxy) -> None:
    proxy.provider.control.add_rule(Rule(reply=Reply(content="a b c d e f g h"), chunks=8))
    proxy.provider.control.add_fault(Fault(kind=FaultKind.DROP, after_chunks=3))
    client = await proxy.openai(purser_session="s1")
    with pytest.raises(openai.APIError) as broken:
        async for _ in await client.responses.create(model="gpt-4o", input="hello", stream=True):
            pass
    assert broken.value.code == "provider_connection_broken"


async def test_what_is_not_supported_is_400_and_reaches_no_provider(proxy: Proxy) -> None:
    client = await proxy.openai(purser_session="s1")
    with pytest.raises(openai.BadRequestError, match="previous_response_id") as refused:
        await client.responses.create(model="gpt-4o", input="hello", previous_response_id="resp_1")
    assert refused.value.code == "unsupported_parameter"
    assert proxy.requests == 1
    assert proxy.provider.served() == ()


# --- requests, without a gateway --------------------------------------------------------------------------------------


def asked(**fields: Any) -> Any:
    return read_responses(json.dumps({"model": "gpt-4o", "input": "hi"} | fields).encode()).asked()


@pytest.mark.parametrize(
    "fields",
    [
        {"previous_response_id": "resp_1"},
        {"conversation": "conv_1"},
        {"background": True},
        {"store": True},
        {"prompt": {"id": "p"}},
        {"truncation": "auto"},
        {"top_logprobs": 3},
        {"include": ["file_search_call.results"]},
        {"tools": [{"type": "web_search"}]},
        {"tool_choice": {"type": "allowed_tools"}},
    ],
)
def test_what_needs_more_than_one_call_is_refused_by_name(fields: dict[str, Any]) -> None:
    with pytest.raises(Unsupported, match=next(iter(fields))):
        asked(**fields)


@pytest.mark.parametrize(
    ("item", "named"),
    [
        ({"type": "item_reference", "id": "msg_1"}, "input.0.type item_reference"),
        ({"type": "computer_call"}, "input.0.type computer_call"),
        ({"role": "user", "content": [{"type": "input_image", "file_id": "f1"}]}, "input.0.content.0.file_id"),
        ({"role": "user", "content": [{"type": "input_audio"}]}, "input.0.content.0.type input_audio"),
    ],
)
def test_an_item_that_is_not_supported_is_named(item: dict[str, Any], named: str) -> None:
    with pytest.raises(Unsupported, match=named):
        asked(input=[item])


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"input": []}, "input"),
        ({"input": [{"role": "tool", "content": "x"}]}, "input.0.role"),
        ({"input": [{"role": "user", "content": 7}]}, "input.0.content"),
        ({"input": [{"type": "function_call", "name": "f", "arguments": "{}"}]}, "input.0.call_id"),
        ({"input": [{"type": "reasoning", "summary": []}]}, "no message"),
        ({"max_output_tokens": 0}, "max_output_tokens"),
        ({"text": {"colour": "red"}}, "text.colour"),
        ({"tools": [{"type": "function"}]}, "tools.name"),
        ({"api_base": "https://evil.example"}, "api_base"),
        ({"temperatur": 1}, "temperatur"),
    ],
)
def test_a_malformed_request_is_named(fields: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidRequest, match=named):
        asked(**fields)


def test_items_become_messages() -> None:
    image = {"type": "input_image", "image_url": "data:image/png;base64,AA==", "detail": "low"}
    turns = [
        {"role": "developer", "content": "Be brief."},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "What is it?"}, image]},
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
        {"type": "function_call", "call_id": "c2", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_text", "text": "a cat"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "A cat."}]},
    ]
    messages = asked(input=turns).messages
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "tool", "assistant"]
    assert messages[1]["content"][1] == {
        "type": "image_url",
        "image_url": {"url": "data:image/png;base64,AA==", "detail": "low"},
    }
    assert [call["id"] for call in messages[2]["tool_calls"]] == ["c1", "c2"]
    assert messages[3] == {"role": "tool", "tool_call_id": "c1", "content": "a cat"}
    assert messages[4]["content"] == "A cat."


def test_options_have_the_names_of_the_chat_api() -> None:
    schema = {"type": "json_schema", "name": "answer", "schema": {"type": "object"}, "strict": True}
    found = asked(
        reasoning={"effort": "low", "summary": "auto"},
        text={"format": schema, "verbosity": "low"},
        tool_choice={"type": "function", "name": "look"},
        temperature=0.5,
        store=False,
        include=["reasoning.encrypted_content"],
        max_output_tokens=7,
    )
    assert found.cap == 7
    assert found.options == {
        "reasoning_effort": "low",
        "verbosity": "low",
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": {"type": "object"}, "strict": True},
        },
        "tool_choice": {"type": "function", "function": {"name": "look"}},
        "temperature": 0.5,
    }
