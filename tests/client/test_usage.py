"""Usage and text of replies, whatever library they come from."""

from datetime import date
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from openai.types.completion_usage import CompletionUsage
from pydantic import BaseModel

from purser.activities.models.litellm_library import litellm_library
from purser.budget.usage import Usage, normalize
from purser_client.calls.costs import costs_nothing
from purser_client.counting import cautious, input_tokens
from purser_client.errors import Unanswered, UnknownUsage
from purser_client.usage import Streamed, usage_of


class _Message(BaseModel):
    id: str = "m1"
    usage: dict[str, Any]


ANTHROPIC = {"input_tokens": 10, "output_tokens": 4, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 0}
CHAT = {"prompt_tokens": 10, "completion_tokens": 4, "total_tokens": 14}
LANGCHAIN = {
    "input_tokens": 1000,
    "output_tokens": 10,
    "total_tokens": 1010,
    "input_token_details": {"cache_read": 900},
}
RESPONSES = {"input_tokens": 10, "output_tokens": 4, "output_tokens_details": {"reasoning_tokens": 2}}


@pytest.mark.parametrize(
    ("reply", "total"),
    [
        (_Message(usage=CHAT), 14),
        (CompletionUsage(**CHAT), 14),
        ({"usage": RESPONSES, "output": []}, 14),
        (_Message(usage=ANTHROPIC), 114),
        (SimpleNamespace(usage=SimpleNamespace(**CHAT)), 14),
        (SimpleNamespace(usage_metadata={"input_tokens": 10, "output_tokens": 4, "total_tokens": 14}), 14),
        ({"usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 4, "totalTokenCount": 14}}, 14),
        (ANTHROPIC, 114),
        ({"usage_metadata": LANGCHAIN}, 1_010),
        ({"total": 14}, 14),
    ],
)
def test_the_gateway_reads_what_is_found(reply: object, total: int) -> None:
    assert normalize(usage_of(reply)).total == total


def test_cached_input_in_the_words_of_langchain_is_no_plain_input() -> None:
    assert normalize(usage_of({"usage_metadata": LANGCHAIN})) == Usage(input=100, cache_read=900, output=10)


def test_the_gateway_reads_what_litellm_reports() -> None:
    reply = litellm_library().types.utils.Usage(**CHAT)
    assert normalize(usage_of(reply)).total == 14


def stream(*chunks: Any) -> Streamed:
    made = Streamed(lambda text: len(text.split()))
    for chunk in chunks:
        made.add(chunk)
    return made


def delta(text: str) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {"role": "assistant", "content": text}}], "usage": None}


STARTED = {"type": "message_start", "message": {"role": "assistant", "usage": ANTHROPIC | {"output_tokens": 1}}}


def block(text: str) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}


TEN = {"input_tokens": 0, "output_tokens": 10, "total_tokens": 10}


def langchain(text: str, usage: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"type": "AIMessageChunk", "content": text, "tool_call_chunks": [], "usage_metadata": usage}


@pytest.mark.parametrize(
    ("streamed", "usage"),
    [
        (stream(delta("one two "), delta("three"), {"choices": [], "usage": CHAT}), Usage(input=10, output=4)),
        (stream(delta("one two "), delta("three")), Usage(input=7, output=3, estimated=True)),
        (stream("one ", "two"), Usage(input=7, output=2, estimated=True)),
        (stream(delta("one two " * 9)), Usage(input=7, output=5, estimated=True)),
        (
            stream(STARTED, block("one two"), {"type": "message_delta", "usage": {"output_tokens": 4}}),
            Usage(input=10, cache_read=100, output=4),
        ),
        (stream(STARTED, block("one two "), block("three")), Usage(input=10, cache_read=100, output=3)),
        (
            stream(
                {"type": "response.output_text.delta", "delta": "one two"},
                {"type": "response.completed", "response": {"usage": RESPONSES}},
            ),
            Usage(input=10, output=4, reasoning=2),
        ),
        (
            stream({"type": "response.output_text.delta", "delta": "one two"}),
            Usage(input=7, output=2, estimated=True),
        ),
        (
            stream({"choices": [{"delta": {"tool_calls": [{"function": {"name": "f", "arguments": "a b c"}}]}}]}),
            Usage(input=7, output=3, estimated=True),
        ),
        (
            stream(delta("one two "), delta("three") | {"usage": {"prompt_tokens": 0, "total_tokens": 0}}),
            Usage(input=7, output=3, estimated=True),
        ),
        (
            stream(langchain("", LANGCHAIN | {"output_tokens": 0}), langchain("one two")),
            Usage(input=100, cache_read=900, output=2),
        ),
        (
            stream(langchain("", LANGCHAIN | {"output_tokens": 0}), langchain("one", TEN), langchain("", TEN)),
            Usage(input=100, cache_read=900, output=20),
        ),
        (stream(langchain("one two"), langchain("")), Usage(input=7, output=2, estimated=True)),
        (stream({"choices": [{"index": 0, "text": "one two"}]}), Usage(input=7, output=2, estimated=True)),
        (
            stream({"candidates": [{"content": {"parts": [{"text": "one "}, {"text": "two"}]}}]}, {"candidates": None}),
            Usage(input=7, output=2, estimated=True),
        ),
    ],
)
def test_a_stream_is_charged_its_report_or_what_arrived(streamed: Streamed, usage: Usage) -> None:
    known = streamed.usage or streamed.estimate(7, 5)
    assert known is not None
    assert normalize(known) == usage


@pytest.mark.parametrize(
    "chunk",
    [
        {"contentBlockDelta": {"delta": {"text": "one two"}}},
        {"data": {"choices": [{"delta": {"content": "one two"}}]}},
        {"candidates": [{"content": None}]},
        {"choices": [{"delta": {"role": "assistant", "content": ""}}]},
    ],
    ids=["Bedrock", "Mistral", "Gemini", "empty"],
)
def test_chunks_of_which_nothing_can_be_read_say_nothing_of_the_usage(chunk: dict[str, Any]) -> None:
    assert stream(chunk).estimate(7, 5) is None


@pytest.mark.parametrize(
    ("error", "nothing"),
    [
        (SimpleNamespace(status_code=429), True),
        (SimpleNamespace(status_code=408), False),
        (SimpleNamespace(status_code=500), False),
        (SimpleNamespace(response=SimpleNamespace(status_code=400)), True),
        (httpx.ConnectError(""), True),
        (httpx.ReadTimeout(""), False),
        (ConnectionRefusedError(), False),
        (ConnectionResetError(), False),
        (ValueError(), False),
    ],
)
def test_an_error_says_whether_something_was_charged(error: Any, nothing: bool) -> None:
    if isinstance(error, SimpleNamespace):
        status, error = error, RuntimeError()
        vars(error).update(vars(status))
    wrapped = RuntimeError()
    wrapped.__cause__ = error
    assert costs_nothing(error) is nothing
    assert costs_nothing(wrapped) is nothing


def test_an_error_in_the_handler_of_another_counts_by_itself() -> None:
    error = httpx.ReadTimeout("a fallback, which may have worked")
    error.__context__ = httpx.ConnectError("the first provider")
    assert not costs_nothing(error)


def test_a_chunk_is_made_plain_once() -> None:
    made: list[int] = []

    class Chunk:
        def model_dump(self) -> dict[str, Any]:
            made.append(1)
            return {"choices": [{"delta": {"content": "hello"}}]}

    streamed = Streamed(len)
    streamed.add(Chunk())
    assert streamed.estimate(9, 60) == {"input": 9, "output": 5, "estimated": True}
    assert made == [1]


def test_a_gateway_that_is_away_says_nothing_of_the_request_to_the_provider() -> None:
    error = Unanswered("raised in the block, after the provider has answered")
    error.__cause__ = httpx.ConnectError("the gateway")
    assert not costs_nothing(error)


def test_causes_may_form_a_cycle() -> None:
    one, other = RuntimeError(), RuntimeError()
    one.__cause__, other.__cause__ = other, one
    assert not costs_nothing(one)


def test_what_is_counted_may_have_keys_that_json_does_not() -> None:
    assert input_tokens([{"role": "tool", "content": {date(2026, 1, 1): 5}}], [], len) > 20


def test_counting_without_a_tokenizer_is_on_the_safe_side() -> None:
    messages = [{"role": "user", "content": "hello"}, {"role": "user", "content": [{"type": "text", "text": "你好"}]}]
    assert cautious("hello") == 3
    assert cautious("") == 0
    assert input_tokens("hello", [], cautious) == 3 + 4 + 3
    assert input_tokens(messages[:1], [], cautious) == 3 + 4 + 3
    assert input_tokens(messages, [{"name": "f"}], cautious) > 3 + 4 + 4 + 3 + 4


def test_a_reply_of_the_responses_api_that_reports_nothing_is_no_usage() -> None:
    silent = {"id": "resp-1", "object": "response", "output": [{"type": "message"}], "usage": None}
    with pytest.raises(UnknownUsage):
        usage_of(silent)
    streamed = Streamed(len)
    streamed.add({"type": "response.output_text.delta", "delta": "hello"})
    streamed.add({"type": "response.completed", "response": silent})
    assert streamed.usage is None
    assert streamed.estimate(9, 60) == {"input": 9, "output": 5, "estimated": True}
