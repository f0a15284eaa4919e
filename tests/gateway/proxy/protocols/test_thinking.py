"""Signed reasoning of a model, which each protocol returns so that the provider takes it back."""

import base64
import json
from collections.abc import Sequence
from typing import Any

import pytest

from purser.budget.errors import InvalidRequest
from purser.gateway.proxy.protocols.responses import ResponsesDialect
from purser.gateway.proxy.protocols.responses_input import ResponsesBody, read_responses
from purser.gateway.proxy.protocols.thinking import ThinkingBlocks, has_signed, seal
from tests.gateway.proxy.protocols.test_mixed_parts import Delta, call, chat, messages, streamed, whole

CLAUDE = "anthropic/claude-sonnet-4-5"
CALL = call(0, "{}", "f", "c1")
REDACTED: Delta = {"type": "redacted_thinking", "data": "D"}


def thought(text: str, signature: str | None = None) -> Delta:
    """A part of a reply with a fragment of reasoning, as LiteLLM yields it."""
    block = {"type": "thinking", "thinking": text} | ({"signature": signature} if signature else {})
    return of(block) | {"reasoning_content": text}


def of(*blocks: Delta) -> Delta:
    return {"thinking_blocks": list(blocks), "provider_specific_fields": {"thinking_blocks": list(blocks)}}


def signed(text: str, signature: str) -> Delta:
    return {"type": "thinking", "thinking": text, "signature": signature}


REPLIES: dict[str, tuple[Sequence[Delta], Sequence[Delta]]] = {
    "fragments": ([thought("I "), thought("think"), thought("", "S1")], [signed("I think", "S1")]),
    "text omitted": ([thought("", "S1")], [signed("", "S1")]),
    "redacted": ([of(REDACTED)], [REDACTED]),
    "redacted, then not": ([of(REDACTED), thought("x"), thought("", "S1")], [REDACTED, signed("x", "S1")]),
    "two blocks": (
        [thought("a"), thought("", "S1"), thought("b"), thought("", "S2")],
        [signed("a", "S1"), signed("b", "S2")],
    ),
    "one signature on all fragments": ([thought("a", "S"), thought("b", "S")], [signed("ab", "S")]),
}
REPLIED = pytest.mark.parametrize(("parts", "blocks"), REPLIES.values(), ids=REPLIES)


@REPLIED
def test_a_whole_message_of_anthropic_has_each_block(parts: Sequence[Delta], blocks: Sequence[Delta]) -> None:
    assert whole(messages(), [*parts, CALL], "tool_calls")["content"][:-1] == blocks


@REPLIED
def test_a_stream_of_anthropic_opens_and_ends_each_block(parts: Sequence[Delta], blocks: Sequence[Delta]) -> None:
    made: list[Delta] = []
    for event in streamed(messages(), [*parts, CALL], "tool_calls"):
        if event["type"] == "content_block_start":
            made.append(dict(event["content_block"]))
        if event["type"] == "content_block_delta" and event["delta"]["type"] == "thinking_delta":
            made[-1]["thinking"] += event["delta"]["thinking"]
        if event["type"] == "content_block_delta" and event["delta"]["type"] == "signature_delta":
            made[-1]["signature"] = event["delta"]["signature"]
    assert made[:-1] == blocks


@REPLIED
def test_a_whole_chat_reply_has_each_block_once(parts: Sequence[Delta], blocks: Sequence[Delta]) -> None:
    message = whole(chat(), [*parts, CALL], "tool_calls")["choices"][0]["message"]
    assert message["thinking_blocks"] == blocks
    assert "provider_specific_fields" not in message


def test_reasoning_without_blocks_is_an_unsigned_block_of_anthropic_and_no_block_of_a_chat() -> None:
    parts = [{"reasoning_content": "I "}, {"reasoning_content": "think"}, {"content": "Yes."}]
    assert whole(messages(), parts)["content"] == [signed("I think", ""), {"type": "text", "text": "Yes."}]
    message = whole(chat(), parts)["choices"][0]["message"]
    assert (message["reasoning_content"], "thinking_blocks" in message) == ("I think", False)


def test_a_whole_chat_reply_has_fields_of_calls_that_the_protocol_does_not_know() -> None:
    parts = [call(0, "", "f", "c1"), call(1, "", "g", "c2"), call(1, "{}")]
    parts[1]["tool_calls"][0]["extra_content"] = {"google": {"thought_signature": "S"}}
    calls = whole(chat(), parts, "tool_calls")["choices"][0]["message"]["tool_calls"]
    assert [one.get("extra_content") for one in calls] == [None, {"google": {"thought_signature": "S"}}]
    assert {"index", "arguments"}.isdisjoint(calls[1])


@pytest.mark.parametrize("fragments", [None, "x", [7, {}, {"type": "thinking"}, {"type": "other", "data": "x"}]])
def test_what_is_no_block_is_left_out(fragments: Any) -> None:
    blocks = ThinkingBlocks()
    assert (blocks.add(fragments), blocks.all) == ([], [])


@pytest.mark.parametrize(
    ("message", "signs"),
    [
        ({"content": "x"}, False),
        ({"thinking_blocks": [{"type": "thinking", "thinking": "x"}]}, False),
        ({"thinking_blocks": [REDACTED]}, True),
        ({"content": [{"type": "text", "text": "x"}, signed("", "S")]}, True),
    ],
)
def test_a_message_is_signed_if_any_of_its_blocks_is(message: Delta, signs: bool) -> None:
    assert has_signed(message) is signs


# --- responses: sealed in the item of the reasoning, and read back ----------------------------------------------------


def body(items: Any = "hi", model: str = CLAUDE, *, asks: bool = True) -> ResponsesBody:
    include = ["reasoning.encrypted_content"] if asks else []
    return read_responses(json.dumps({"model": model, "input": items, "include": include}).encode())


def output(parts: Sequence[Delta], *, asks: bool = True) -> list[Delta]:
    """The items of a reply, streamed and whole alike."""
    items: list[Delta] = whole(ResponsesDialect(body(asks=asks)), parts, "tool_calls")["output"]
    *events, last = streamed(ResponsesDialect(body(asks=asks)), parts, "tool_calls")
    done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    assert last["response"]["output"] == done
    assert [one | {"id": ""} for one in done] == [one | {"id": ""} for one in items]
    return items


@REPLIED
def test_a_response_takes_its_signed_reasoning_back(parts: Sequence[Delta], blocks: Sequence[Delta]) -> None:
    items = [{"role": "user", "content": "hi"}, *output([*parts, CALL])]
    items.append({"type": "function_call_output", "call_id": "c1", "output": "done"})
    asked = body(items).asked().messages
    assert [message["role"] for message in asked] == ["user", "assistant", "tool"]
    assert (asked[1]["thinking_blocks"], len(asked[1]["tool_calls"])) == (blocks, 1)


def test_reasoning_belongs_to_the_message_or_the_call_that_follows_it() -> None:
    first, second = signed("a", "S1"), signed("b", "S2")
    reasons = [{"type": "reasoning", "encrypted_content": seal([one], CLAUDE)} for one in (first, second)]
    said, asks = ({"role": role, "content": role} for role in ("assistant", "user"))
    calls = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
    found = body([reasons[0], said, reasons[1], calls, reasons[0], asks, said]).asked().messages
    assert [message.get("thinking_blocks") for message in found] == [[first, second], None, None]


def test_signed_reasoning_is_returned_only_if_it_is_asked_for() -> None:
    parts = [thought("x"), thought("", "S1"), CALL]
    assert "encrypted_content" not in output(parts, asks=False)[0]
    assert [item["type"] for item in output([of(REDACTED), CALL], asks=False)] == ["function_call"]
    assert "encrypted_content" not in output([thought("unsigned"), CALL])[0]


@pytest.mark.parametrize("content", [None, "gAAAAAB-of-another-service", seal([signed("x", "S")], "gpt-4o")])
def test_reasoning_that_the_model_could_not_read_is_left_out(content: str | None) -> None:
    items = [{"type": "reasoning", "summary": [], "encrypted_content": content}, {"role": "assistant", "content": "x"}]
    assert body(items).asked().messages == [{"role": "assistant", "content": "x"}]


@pytest.mark.parametrize(
    "content",
    [
        7,
        "purser.",
        "purser.é",
        "purser." + base64.b64encode(b"[" * 100_000).decode(),
        seal([{"type": "thinking", "thinking": None, "signature": "S"}], CLAUDE),
        seal([{"type": "thinking", "thinking": "\0", "signature": "S"}], CLAUDE),
        seal([{"type": "redacted_thinking", "data": {"a": 1}}], CLAUDE),
    ],
)
def test_sealed_reasoning_that_was_changed_is_refused_and_its_place_named(content: Any) -> None:
    items = [{"type": "reasoning", "encrypted_content": content}, {"role": "assistant", "content": "x"}]
    with pytest.raises(InvalidRequest, match=r"^input\.0\.encrypted_content is not valid"):
        body(items).asked()
