"""Streams of providers with protocols of their own that end early: what is known of their cost."""

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from purser.activities.errors import Cost, ProviderUnavailable
from purser.activities.models import provider
from purser.activities.models.egress.connections import pooled_connections
from purser.activities.models.partial_replies import PartialReply
from purser.activities.models.provider import ModelProvider, ModelRequest
from purser.budget.usage import Usage
from purser.context.tokens import count_text
from tests.support.servers.raw_server import raw_server, replies

WORDS = [f"word{number} " for number in range(60)]
TOO_LONG = "This model's maximum context length is 100 tokens"


class Redirected(httpx.AsyncBaseTransport):
    """Sends everything to a port on loopback."""

    def __init__(self, connections: httpx.AsyncBaseTransport, port: int) -> None:
        self._connections = connections
        self._port = port

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        url = request.url.copy_with(scheme="http", host="127.0.0.1", port=self._port)
        content, extensions = await request.aread(), request.extensions
        leaving = httpx.Request(request.method, url, headers=request.headers, content=content, extensions=extensions)
        return await self._connections.handle_async_request(leaving)


@pytest.fixture
def redirect(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    def to(port: int) -> None:
        monkeypatch.setattr(provider, "pooled_connections", lambda *given: Redirected(pooled_connections(*given), port))

    return to


async def ask(
    redirect: Callable[[int], None], model: str, host: str, body: bytes
) -> tuple[PartialReply, ProviderUnavailable | None]:
    """Sends one request to a provider that answers with this stream; returns the partial reply and the failure."""
    partial = PartialReply()
    async with raw_server(replies(body)) as server:
        redirect(server.port)
        request = ModelRequest(model, [{"role": "user", "content": "Hello there"}], (), 1_000, "7-1")
        try:
            await ModelProvider({host: "key"}).complete(request, partial)
        except ProviderUnavailable as failure:
            return partial, failure
    return partial, None


def anthropic(*last: tuple[str, dict[str, Any]]) -> bytes:
    """A stream of Anthropic: usage at its beginning, words, and these events."""
    about: dict[str, Any] = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "content": [],
        "model": "claude",
        "stop_reason": None,
    }
    begun = about | {"usage": {"input_tokens": 25, "output_tokens": 1, "cache_read_input_tokens": 75}}
    events: list[tuple[str, dict[str, Any]]] = [
        ("message_start", {"message": begun}),
        ("content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}}),
        *(("content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": word}}) for word in WORDS),
        *last,
    ]
    return b"".join(
        f"event: {name}\ndata: {json.dumps({'type': name} | fields)}\n\n".encode() for name, fields in events
    )


ANTHROPIC = ("anthropic/claude-sonnet-4-5", "api.anthropic.com")


@pytest.mark.parametrize(
    "error", [None, {"type": "invalid_request_error", "message": "prompt is too long"}], ids=["breaks off", "fails"]
)
async def test_usage_at_the_beginning_of_a_stream_is_not_all_that_it_cost(
    redirect: Callable[[int], None], error: dict[str, str] | None
) -> None:
    body = anthropic(("error", {"error": error})) if error else anthropic()
    partial, failure = await ask(redirect, *ANTHROPIC, body)
    assert failure is not None
    arrived = count_text("".join(WORDS), ANTHROPIC[0]).tokens
    charged = partial.charge(99, ANTHROPIC[0])
    assert (charged.input, charged.cache_read, charged.output, charged.estimated) == (25, 75, arrived, True)


async def test_usage_of_a_stream_that_the_provider_ended_is_exact(redirect: Callable[[int], None]) -> None:
    ended = {"delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": {"output_tokens": 123}}
    body = anthropic(("content_block_stop", {"index": 0}), ("message_delta", ended), ("message_stop", {}))
    partial, failure = await ask(redirect, *ANTHROPIC, body)
    assert failure is None
    charged = partial.charge(99, ANTHROPIC[0])
    assert (charged.output, charged.estimated) == (123, False)


async def test_an_error_within_a_stream_is_of_unknown_cost_whatever_it_says(redirect: Callable[[int], None]) -> None:
    chunks = [{"id": "1", "choices": [{"index": 0, "delta": {"content": word}}]} for word in WORDS]
    error = {"error": {"code": 400, "message": TOO_LONG}}
    body = b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in (*chunks, error))
    partial, failure = await ask(redirect, "deepseek/deepseek-chat", "api.deepseek.com", body)
    assert partial.message().text == "".join(WORDS)
    assert failure is not None
    assert (failure.reason, failure.cost, failure.status) == ("unreadable_reply", Cost.UNKNOWN, 200)


async def test_reasoning_that_arrives_is_counted(redirect: Callable[[int], None]) -> None:
    chunks = [
        *({"choices": [{"index": 0, "delta": {"reasoning_content": word}}]} for word in WORDS),
        {"choices": [{"index": 0, "delta": {"content": "Yes."}, "finish_reason": "stop"}]},
    ]
    body = b"".join(b"data: " + json.dumps({"id": "1"} | chunk).encode() + b"\n\n" for chunk in chunks)
    for model, host in (("deepseek/deepseek-reasoner", "api.deepseek.com"), ("openai/gpt-4o", "api.openai.com")):
        partial, failure = await ask(redirect, model, host, body)
        assert (failure, partial.message().text) == (None, "Yes.")
        produced = count_text("".join(WORDS) + "Yes.", model).tokens
        assert partial.charge(99, model) == Usage(input=99, output=produced, estimated=True)
