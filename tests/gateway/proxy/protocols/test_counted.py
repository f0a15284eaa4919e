"""What of a request can be charged as input is in its hold: a long text in each field of each protocol's schema."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import UnionType
from typing import Annotated, Any, Literal, NotRequired, Required, Union, get_args, get_origin, get_type_hints

import openai
import pytest
from openai.types.chat.completion_create_params import CompletionCreateParamsBase
from openai.types.responses.response_create_params import ResponseCreateParamsBase
from typing_extensions import is_typeddict

from purser.budget.errors import InvalidRequest
from purser.context.errors import InvalidMessage
from purser.context.tokens import count_request, count_text
from purser.gateway.access.roles import Role
from purser.gateway.proxy.chat_call import ChatRequest
from purser.gateway.proxy.protocols.anthropic import MessagesRequest, read_messages
from purser.gateway.proxy.protocols.openai import ChatOptions, read_chat, read_embeddings
from purser.gateway.proxy.protocols.responses_input import read_responses
from purser.gateway.proxy.verdicts import Unsupported
from tests.gateway.conftest import RunningGateway
from tests.gateway.proxy.conftest import HELLO, Proxy, RawProvider

LONG = "lorem ipsum " * 400
"""Counts less than an image, whose data are not read as text."""
TOKENS = count_text(LONG, "gpt-4o").tokens
DEEPEST = 8
ANTHROPIC: dict[str, Any] = {
    "model": "gpt-4o",
    "max_tokens": 50,
    "system": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral", "ttl": "5m"}}],
    "messages": [
        {
            "role": "user",
            "content": [
                {
                    "type": "text",
                    "text": "t",
                    "cache_control": {"type": "ephemeral"},
                    "citations": [{"type": "char_location", "cited_text": "c", "document_title": "d"}],
                },
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
                {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
                {
                    "type": "document",
                    "source": {"type": "base64", "media_type": "application/pdf", "data": "AAAA"},
                    "title": "t",
                    "context": "c",
                    "citations": {"enabled": True},
                },
                {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "d"}},
                {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "d"}]}},
                {"type": "search_result", "source": "s", "title": "t", "content": [{"type": "text", "text": "r"}]},
                {"type": "container_upload", "file_id": "f"},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "h", "signature": "s"},
                {"type": "redacted_thinking", "data": "r"},
                {"type": "text", "text": "t"},
                {"type": "tool_use", "id": "1", "name": "f", "input": {"a": "b"}},
                {"type": "server_tool_use", "id": "2", "name": "web_search", "input": {"query": "q"}},
                {"type": "web_search_tool_result", "tool_use_id": "2", "content": [{"type": "x", "title": "t"}]},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "1",
                    "is_error": False,
                    "content": [
                        {"type": "text", "text": "t"},
                        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
                        {"type": "search_result", "source": "s", "title": "t", "content": []},
                    ],
                },
                {"type": "tool_result", "tool_use_id": "3", "content": "r"},
            ],
        },
    ],
    "tools": [
        {
            "type": "custom",
            "name": "f",
            "description": "d",
            "input_schema": {"type": "object", "properties": {"a": {"type": "string", "description": "d"}}},
            "cache_control": {"type": "ephemeral"},
            "input_examples": [{"a": "b"}],
        }
    ],
    "tool_choice": {"type": "tool", "name": "f"},
    "thinking": {"type": "enabled", "budget_tokens": 1_024},
    "metadata": {"user_id": "u"},
    "stop_sequences": ["s"],
    "service_tier": "auto",
    "temperature": 1,
    "top_k": 5,
    "top_p": 0.5,
    "stream": False,
}
"""A request with what Anthropic documents, as far as the proxy takes it."""


def bare(kind: Any) -> Any:
    while get_origin(kind) in (Annotated, Required, NotRequired):
        kind = get_args(kind)[0]
    return kind


def smallest(kind: Any) -> Any:
    """A value of a type, without what is optional."""
    kind = bare(kind)
    origin, given = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return smallest(given[0])
    if origin is Literal:
        return given[0]
    if is_typeddict(kind):
        hints = get_type_hints(kind, include_extras=True)
        return {name: smallest(of) for name, of in hints.items() if get_origin(of) is Required or name == "type"}
    if isinstance(origin, type):
        return {} if issubclass(origin, Mapping) else [smallest(given[0])]
    return {int: 1, float: 1, bool: True}.get(kind, "x")


def of_type(kind: Any, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Values of a type with the long text at one place, and the place."""
    kind = bare(kind)
    origin, given = get_origin(kind), get_args(kind)
    if depth > DEEPEST:
        return
    if origin in (Union, UnionType):
        for one in given:
            yield from of_type(one, depth + 1)
    elif is_typeddict(kind):
        base = smallest(kind)
        for name, of in get_type_hints(kind, include_extras=True).items():
            yield from ((f".{name}{place}", base | {name: value}) for place, value in of_type(of, depth + 1))
        yield ".unknown", base | {"unknown": LONG}
    elif isinstance(origin, type) and issubclass(origin, Mapping):
        yield from ((".value", {"x": LONG}), (".key", {LONG: "x"}))
    elif isinstance(origin, type) and issubclass(origin, Iterable):
        yield from ((f".0{place}", [value]) for place, value in of_type(given[0], depth + 1))
    else:
        yield "", LONG


def of_schema(schema: Any, base: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, kind in get_type_hints(schema, include_extras=True).items():
        yield from ((f"{name}{place}", {**base, name: value}) for place, value in of_type(kind))


def of_example(value: Any) -> Iterator[tuple[str, Any]]:
    """The example with the long text in place of one of its values, or in a further field of one of its objects."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from ((f".{name}{place}", value | {name: changed}) for place, changed in of_example(part))
        yield ".unknown", value | {"unknown": LONG}
    elif isinstance(value, list):
        for index, part in enumerate(value):
            for place, changed in of_example(part):
                yield f".{index}{place}", [*value[:index], changed, *value[index + 1 :]]
    else:
        yield "", LONG


def of_parameters() -> Iterator[tuple[str, dict[str, Any]]]:
    """Each parameter that goes to the provider unchanged, whether or not the schema has it."""
    for name in ChatOptions.model_fields:
        for value in (LONG, [LONG], {"x": LONG}, {LONG: 1}, [{"name": "f", "x": LONG}]):
            yield name, {"model": "gpt-4o", "messages": HELLO, name: value}


def outcome(read: Callable[[bytes], ChatRequest], body: Mapping[str, Any]) -> str:
    try:
        asked = read(json.dumps(body).encode())
        tokens = count_request(asked.counted, asked.tools, asked.model).tokens
    except (InvalidRequest, InvalidMessage, Unsupported):
        return "refused"
    if LONG not in json.dumps([asked.messages, asked.tools, asked.options]):
        return "not sent"
    return "counted" if tokens >= TOKENS else "missed"


def chat(content: bytes) -> ChatRequest:
    return read_chat(content).asked()


def items(content: bytes) -> ChatRequest:
    return read_responses(content).asked()


def blocks(content: bytes) -> ChatRequest:
    return MessagesRequest(read_messages(content)).asked


@pytest.mark.parametrize(
    ("read", "bodies", "counted"),
    [
        (
            chat,
            lambda: (*of_schema(CompletionCreateParamsBase, {"model": "gpt-4o", "messages": HELLO}), *of_parameters()),
            {"response_format.json_schema.schema.value", "messages.0.name", "thinking"},
        ),
        (
            items,
            lambda: of_schema(ResponseCreateParamsBase, {"model": "gpt-4o", "input": "hello"}),
            {"instructions", "text.format.schema.value", "tools.0.description", "input.0.content.0.text"},
        ),
        (
            blocks,
            lambda: of_example(ANTHROPIC),
            {".system.0.text", ".tools.0.description", ".stop_sequences.0", ".messages.1.content.0.signature"},
        ),
    ],
    ids=["chat/completions", "responses", "messages"],
)
def test_a_long_text_in_any_field_is_counted_or_refused_or_not_sent(
    read: Callable[[bytes], ChatRequest], bodies: Callable[[], Iterable[tuple[str, Any]]], counted: set[str]
) -> None:
    found = [(place, outcome(read, body)) for place, body in bodies()]
    assert [place for place, what in found if what == "missed"] == []
    assert counted <= {place for place, what in found if what == "counted"}


def test_of_a_request_for_vectors_only_the_texts_are_sent() -> None:
    body = {"model": "m", "input": ["a", LONG], "user": "lorem", "encoding_format": "float"}
    asked = read_embeddings(json.dumps(body).encode()).asked()
    assert (asked.texts, asked.dimensions) == (["a", LONG], None)


@pytest.mark.parametrize(
    "change",
    [
        {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {"description": LONG}}}},
        {"messages": [{"role": "user", "content": "hi", "name": LONG.replace(" ", "_")}]},
        {"messages": [{"role": "user", "content": "hi", "prefix": LONG}]},
        {"messages": [{"role": "assistant", "content": "a", "reasoning": LONG, "thinking_blocks": []}, *HELLO]},
    ],
)
async def test_a_hard_limit_refuses_what_would_not_fit_wherever_its_text_is(
    proxy: Proxy, change: dict[str, Any]
) -> None:
    await proxy.limited(limit_tokens=500)
    client = await proxy.openai(purser_session="s1")
    with pytest.raises(openai.APIStatusError) as refused:
        await client.post(
            "/chat/completions", body={"model": "gpt-4o", "messages": HELLO, "max_tokens": 50} | change, cast_to=object
        )
    assert (refused.value.status_code, refused.value.code) == (402, "budget_exceeded")
    assert proxy.provider.served() == ()


async def test_counts_of_a_model_learn_nothing_from_a_call_whose_further_texts_its_provider_may_not_charge(
    gateway: RunningGateway, raw_provider: RawProvider
) -> None:
    raw_provider.body = (
        b'data: {"choices": [{"index": 0, "delta": {"content": "hi"}, "finish_reason": "stop"}]}\n\n'
        b'data: {"choices": [], "usage": {"prompt_tokens": 900, "completion_tokens": 1}}\n\ndata: [DONE]\n\n'
    )
    http = await gateway.client(Role.AGENT)
    http.headers.update({"Purser-Session": "s1", "Purser-Api-Base": raw_provider.api_base})
    body = {"model": "claude-haiku-4-5", "messages": [{"role": "user", "content": LONG}], "max_tokens": 100}
    calls = "select coalesce(sum(calls), 0) from token_calibrations where model = 'claude-haiku-4-5'"
    for change, learned in (({}, 1), ({"metadata": {"a": LONG}}, 1), ({}, 2)):
        answer = await http.post("/openai/v1/chat/completions", json=body | change)
        assert answer.status_code == 200
        assert await gateway.pool.fetchval(calls) == learned
