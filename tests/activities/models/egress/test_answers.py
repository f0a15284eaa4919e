"""Answers of providers, sent by a real server byte by byte."""

import asyncio
import json
import math
import threading
from collections.abc import AsyncIterator
from importlib import import_module
from typing import Any

import pytest

from purser.activities.errors import Cost, ProviderError, ProviderRejected, ProviderUnavailable
from purser.activities.models.egress import transport
from purser.activities.models.egress.answers import ByteLimit, as_stream, countable, event_lines
from purser.activities.models.egress.transport import Bounds
from purser.activities.models.embedding_requests import EmbeddingRequest
from purser.activities.models.litellm_library import litellm_library
from purser.activities.models.partial_replies import PartialReply
from purser.activities.models.provider import ModelProvider, ModelRequest, Timeouts
from tests.support.servers.raw_server import Answer, RawServer, endless, raw_server, replies, streams

SOCKETS = 16 * 2**20
"""Most bytes in the buffers of two sockets and of their libraries."""


async def ask(answer: Answer, **more: Any) -> tuple[PartialReply, ProviderError | None, RawServer]:
    """Sends one request of 50 tokens; returns the partial reply, the failure and the server."""
    provider = ModelProvider({}, Timeouts(silence_s=5, total_s=60), **more)
    partial = PartialReply()
    async with raw_server(answer) as server:
        messages = [{"role": "user", "content": "Hello there"}]
        try:
            await provider.complete(ModelRequest("gpt-4o", messages, (), 50, "7-1", server.api_base), partial)
        except ProviderError as failure:
            return partial, failure, server
    return partial, None, server


def chunk(text: str | None = None, finish: str | None = None, **more: Any) -> bytes:
    delta = {} if text is None else {"role": "assistant", "content": text}
    choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
    return b"data: " + json.dumps({"id": "1", "object": "chat.completion.chunk", "choices": choices} | more).encode()


def stream(*chunks: bytes, done: bool = True) -> bytes:
    return b"".join(each + b"\n\n" for each in chunks) + (b"data: [DONE]\n\n" if done else b"")


def usage_chunk(**usage: Any) -> bytes:
    return (
        b"data: " + json.dumps({"id": "1", "object": "chat.completion.chunk", "choices": [], "usage": usage}).encode()
    )


def plain(**more: Any) -> bytes:
    message = {"role": "assistant", "content": "Good day."}
    body = {"id": "1", "object": "chat.completion", "choices": [{"message": message, "finish_reason": "stop"} | more]}
    return json.dumps(body | {"usage": {"prompt_tokens": 20, "completion_tokens": 10, "total_tokens": 30}}).encode()


# --- what counts as an answer ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [
        replies(stream(chunk("Half a sent"), done=False)),
        replies(stream(chunk("Half a sent"))),
        replies(b""),
        replies(b"", "application/json"),
        replies(b"<html>Sign in</html>", "text/html"),
        replies(b"<html>Sign in</html>"),
        replies(b"<html>Sign in</html>", "application/json"),
        replies(b'{"error": {"message": "busy"}}', "application/json"),
        replies(plain(finish_reason=None), "application/json"),
        replies(stream(chunk("Good day.", "stop")), more="content-encoding: gzip\r\n"),
    ],
    ids=[
        "half a sentence",
        "half a sentence and DONE",
        "an empty stream",
        "nothing",
        "HTML",
        "HTML that says it is a stream",
        "HTML that says it is JSON",
        "JSON that is no completion",
        "a completion that was not ended",
        "a stream in an encoding that was not asked for",
    ],
)
async def test_what_the_provider_did_not_end_is_no_reply_and_tried_again(answer: Answer) -> None:
    partial, failure, server = await ask(answer)
    assert isinstance(failure, ProviderUnavailable)
    assert (failure.cost, failure.reason in ("incomplete_reply", "unreadable_reply")) == (Cost.UNKNOWN, True)
    assert (partial.complete, partial.sent, len(server.requests)) == (False, True, 1)


async def test_a_stream_that_the_provider_ended_is_a_reply() -> None:
    usage = usage_chunk(prompt_tokens=20, completion_tokens=10, total_tokens=30)
    partial, failure, _ = await ask(replies(stream(chunk("Good day."), chunk(None, "stop"), usage)))
    assert (failure, partial.message().text, partial.finish_reason) == (None, "Good day.", "stop")
    assert partial.usage is not None
    assert partial.usage.total == 30


async def test_no_thread_assembles_a_stream_again(monkeypatch: pytest.MonkeyPatch) -> None:
    assembled: list[object] = []
    monkeypatch.setattr(litellm_library(), "stream_chunk_builder", lambda **named: assembled.append(named))
    usage = usage_chunk(prompt_tokens=20, completion_tokens=10, total_tokens=30)
    partial, failure, _ = await ask(replies(stream(chunk("Good day."), chunk(None, "stop"), usage)))
    assert (failure, partial.complete, assembled) == (None, True, [])


@pytest.mark.parametrize("ends", [True, False])
async def test_the_next_request_uses_the_connection_of_a_stream_that_ended(ends: bool) -> None:
    usage = usage_chunk(prompt_tokens=20, completion_tokens=10, total_tokens=30)
    answer = streams(stream(chunk("Good day."), chunk(None, "stop"), usage), ends=ends)
    provider = ModelProvider({}, Timeouts(silence_s=5, total_s=60))
    async with raw_server(answer, keeps=True) as server:
        for _ in range(3):
            partial = PartialReply()
            messages = [{"role": "user", "content": "Hello there"}]
            await provider.complete(ModelRequest("gpt-4o", messages, (), 50, "7-1", server.api_base), partial)
            assert (partial.message().text, partial.complete) == ("Good day.", True)
    assert (len(server.requests), server.connections) == (3, 1 if ends else 3)


async def test_a_server_without_streaming_is_read_with_its_own_usage() -> None:
    partial, failure, _ = await ask(replies(plain(), "application/json; charset=utf-8"))
    assert (failure, partial.message().text, partial.finish_reason) == (None, "Good day.", "stop")
    assert partial.usage is not None
    assert (partial.usage.input, partial.usage.output) == (20, 10)


@pytest.mark.parametrize(("characters", "is_inline"), [(100, True), (65_600, False)])
async def test_a_large_reply_in_one_piece_is_parsed_off_the_event_loop(
    monkeypatch: pytest.MonkeyPatch, characters: int, is_inline: bool
) -> None:
    parsed: list[bool] = []

    def noted(body: bytes) -> bytes:
        parsed.append(threading.current_thread() is threading.main_thread())
        return as_stream(body)

    monkeypatch.setattr(transport, "as_stream", noted)
    message = {"role": "assistant", "content": "a" * characters}
    partial, failure, _ = await ask(replies(plain(message=message), "application/json"))
    assert (failure, partial.characters, parsed) == (None, characters, [is_inline])


async def test_tool_calls_of_a_server_without_streaming_arrive() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{}"}}
    body = plain(message={"role": "assistant", "content": None, "tool_calls": [call]}, finish_reason="tool_calls")
    partial, failure, _ = await ask(replies(body, "application/json"))
    assert (failure, partial.message().tool_calls) == (None, (call,))


# --- usage -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("figure", [math.nan, math.inf, -1, "many", True, [1]], ids=str)
@pytest.mark.parametrize("content_type", ["text/event-stream", "application/json"])
async def test_usage_that_is_no_count_costs_no_reply(figure: object, content_type: str) -> None:
    usage = {"prompt_tokens": figure, "completion_tokens": 10, "total_tokens": 30}
    streamed = stream(chunk("Good day."), chunk(None, "stop"), usage_chunk(**usage))
    body = json.loads(plain()) | {"usage": usage}
    answer = streamed if content_type == "text/event-stream" else json.dumps(body).encode()
    partial, failure, _ = await ask(replies(answer, content_type))
    assert (failure, partial.message().text, partial.usage) == (None, "Good day.", None)
    assert partial.charge(20, "gpt-4o").estimated


async def test_fractions_of_tokens_are_rounded_up() -> None:
    usage = usage_chunk(prompt_tokens=20.5, completion_tokens=9.01, total_tokens=29.51)
    partial, failure, _ = await ask(replies(stream(chunk("Good day.", "stop"), usage)))
    assert failure is None
    assert partial.usage is not None
    assert (partial.usage.input, partial.usage.output, partial.usage.unsplit) == (21, 10, 0)


def test_what_is_not_counted_in_tokens_is_left_as_it_is() -> None:
    line = b'data: {"usage": {"prompt_tokens": 3, "cost": 0.00014}}'
    assert countable(line, lambda reason: pytest.fail(reason)) == line


@pytest.mark.parametrize(
    "usage", [{"prompt_tokens": 2, "total_tokens": 2}, {"prompt_tokens": -1}, {"total_tokens": 1.5}]
)
async def test_vectors_arrive_whatever_their_usage_says(usage: dict[str, Any]) -> None:
    body = {"object": "list", "data": [{"object": "embedding", "index": 0, "embedding": [0.5, 1.0]}], "usage": usage}
    async with raw_server(replies(json.dumps(body).encode(), "application/json")) as server:
        found = await ModelProvider({}).embed(EmbeddingRequest("openai/small", ["a"], "1-1", server.api_base))
    assert found.vectors == ((0.5, 1.0),)


# --- bounds ----------------------------------------------------------------------------------------------------------


async def test_a_stream_without_end_is_cut_where_no_reply_is_that_long() -> None:
    partial, failure, server = await ask(endless(chunk("word " * 500) + b"\n\n"))
    assert isinstance(failure, ProviderRejected)
    assert (failure.reason, failure.cost) == ("reply_too_large", Cost.UNKNOWN)
    await server.gone.wait()
    assert 0 < partial.characters <= 16 * 50 + 64 * 1024 + 2_500
    assert server.sent < Bounds().reply_bytes(50) + SOCKETS


@pytest.mark.parametrize(
    "answer",
    [
        endless(chunk("word ") + b"\n\n"),
        endless(b": still working\n\n"),
        endless(b"data: " + b"a" * 10_000),
        endless(b"a" * 10_000, "application/json"),
        endless(b"[" * 10_000, "application/json"),
    ],
    ids=["one word", "nothing but comments", "one line", "JSON", "nested JSON"],
)
async def test_no_more_is_read_than_the_reply_may_have(answer: Answer) -> None:
    _, failure, server = await ask(answer)
    assert failure is not None
    assert failure.reason == "reply_too_large"
    await server.gone.wait()
    assert server.sent < Bounds().reply_bytes(50) + SOCKETS


@pytest.mark.parametrize(("tokens", "most"), [(0, 2**20), (1_000, 1_000 * 1_024 + 2**20), (10**9, 64 * 2**20)])
def test_a_reply_has_a_bound_that_the_caller_cannot_raise(tokens: int, most: int) -> None:
    assert Bounds().reply_bytes(tokens) == most


async def test_other_tasks_run_while_a_stream_arrives_in_large_blocks() -> None:
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def blocks() -> AsyncIterator[bytes]:
        yield (chunk("word ") + b"\n\n") * 500

    concurrent = asyncio.create_task(other())
    lines = event_lines(blocks(), ByteLimit(2**20), 2**20, lambda reason: pytest.fail(reason))
    seen = [piece async for piece in lines]
    concurrent.cancel()
    assert b"".join(seen) == (chunk("word ") + b"\n\n") * 500
    assert max(piece.count(b"data:") for piece in seen) < 20
    assert turns >= len(seen) - 1


async def test_a_reply_that_repeats_itself_and_ends_is_accepted() -> None:
    usage = usage_chunk(prompt_tokens=20, completion_tokens=300, total_tokens=320)
    partial, failure, _ = await ask(replies(stream(*[chunk("----")] * 300, chunk(None, "stop"), usage)))
    assert (failure, partial.message().text) == (None, "----" * 300)


async def test_a_line_may_be_shorter_than_the_reply_and_no_longer_than_its_own_bound() -> None:
    async def lines(length: int) -> AsyncIterator[bytes]:
        for _ in range(3):
            yield b"data: " + b"a" * length + b"\n"

    def read(length: int) -> AsyncIterator[bytes]:
        return event_lines(lines(length), ByteLimit(2**20), 1_000, lambda reason: pytest.fail(reason))

    assert len(b"".join([piece async for piece in read(900)]).splitlines()) == 3
    with pytest.raises(ProviderRejected) as refused:
        [piece async for piece in read(1_000)]
    assert refused.value.reason == "reply_too_large"


async def test_of_an_error_only_the_beginning_is_read() -> None:
    _, failure, server = await ask(endless(b'{"error": ' * 1_000, "application/json", "500 Internal Server Error"))
    assert failure is not None
    assert (failure.reason, failure.status) == ("server_error", 500)
    await server.gone.wait()
    assert server.sent < SOCKETS


@pytest.mark.parametrize(
    ("status", "kind", "reason", "cost", "retry_after_ms"),
    [
        ("429 Too Many Requests", ProviderUnavailable, "rate_limited", Cost.NOTHING, 2_000),
        ("400 Bad Request", ProviderRejected, "bad_request", Cost.NOTHING, None),
        ("503 Service Unavailable", ProviderUnavailable, "server_error", Cost.UNKNOWN, 2_000),
        ("307 Temporary Redirect", ProviderRejected, "redirected", Cost.NOTHING, None),
    ],
)
@pytest.mark.parametrize("ends", [True, False], ids=["cut off", "without end"])
async def test_an_error_is_known_by_its_status_even_if_its_body_does_not_arrive(
    status: str, kind: type[ProviderError], reason: str, cost: Cost, retry_after_ms: int | None, ends: bool
) -> None:
    async def answer(server: RawServer, writer: asyncio.StreamWriter) -> None:
        more = "retry-after: 2\r\ncontent-length: 999\r\n"
        await replies(b'{"error": ', "application/json", status, more)(server, writer)
        if not ends:
            await asyncio.Event().wait()

    _, failure, _ = await ask(answer, bounds=Bounds(error_s=0.2))
    assert isinstance(failure, kind)
    assert (failure.reason, failure.cost) == (reason, cost)
    assert getattr(failure, "retry_after_ms", None) == retry_after_ms


@pytest.mark.parametrize(
    ("status", "text", "reason", "cost"),
    [
        ("400 Bad Request", "This model's maximum context length is 8192 tokens.", "context_window", Cost.NOTHING),
        ("413 Too Large", "input tokens exceed the configured limit", "context_window", Cost.NOTHING),
        ("400 Bad Request", "Rate limit reached for requests", "rate_limited", Cost.NOTHING),
        ("503 Service Unavailable", "Rate limit reached for requests", "rate_limited", Cost.NOTHING),
        ("503 Service Unavailable", "The server is overloaded", "server_error", Cost.UNKNOWN),
        ("400 Bad Request", "unknown parameter", "bad_request", Cost.NOTHING),
        ("401 Unauthorized", "Incorrect API key: sk-1234567890abcdefghij", "authentication", Cost.NOTHING),
    ],
)
async def test_the_text_of_an_error_says_of_which_kind_it_is_and_is_not_searched_for_secrets(
    monkeypatch: pytest.MonkeyPatch, status: str, text: str, reason: str, cost: Cost
) -> None:
    searched: list[str] = []

    def search(text: str) -> str:
        searched.append(text)
        return text

    litellm_library()
    for module in ("litellm._logging", "litellm.litellm_core_utils.exception_mapping_utils"):
        monkeypatch.setattr(import_module(module), "redact_secret_string", search)
    body = json.dumps({"error": {"message": "a b " * 1_000 + text}}).encode()
    _, failure, _ = await ask(replies(body, "application/json", status))
    assert failure is not None
    assert (failure.reason, failure.cost, searched) == (reason, cost, [])


async def test_headers_without_end_are_not_read() -> None:
    async def answer(server: RawServer, writer: asyncio.StreamWriter) -> None:
        await server.send(writer, b"HTTP/1.1 200 OK\r\n")
        while True:
            await server.send(writer, b"x-a: " + b"a" * 1_000 + b"\r\n")

    _, failure, server = await ask(answer)
    assert failure is not None
    assert failure.reason == "connection_broken"
    await server.gone.wait()
    assert server.sent < SOCKETS


async def test_a_silent_server_times_out() -> None:
    async def answer(server: RawServer, writer: asyncio.StreamWriter) -> None:
        await asyncio.Event().wait()

    provider = ModelProvider({}, Timeouts(silence_s=0.2))
    async with raw_server(answer) as server:
        request = ModelRequest("gpt-4o", [{"role": "user", "content": "Hi"}], (), 50, "7-1", server.api_base)
        with pytest.raises(ProviderUnavailable, match="timeout"):
            await provider.complete(request, PartialReply())


@pytest.mark.parametrize(
    ("header", "delay_ms"),
    [("999999999", 600_000), ("1e300", 600_000), ("inf", 600_000), ("nan", None), ("-1", None), ("2", 2_000)],
)
async def test_a_provider_delays_a_retry_for_ten_minutes_at_most(header: str, delay_ms: int | None) -> None:
    answer = replies(b"{}", "application/json", "429 Too Many Requests", f"retry-after: {header}\r\n")
    _, failure, _ = await ask(answer)
    assert isinstance(failure, ProviderUnavailable)
    assert (failure.reason, failure.cost, failure.retry_after_ms) == ("rate_limited", Cost.NOTHING, delay_ms)
