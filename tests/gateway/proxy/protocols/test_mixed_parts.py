"""Replies whose parts come mixed, are cut off, or refuse, in the words of each protocol."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from purser.activities.models.partial_replies import PartialReply
from purser.budget.usage import Usage
from purser.gateway.proxy.held_call import Charged
from purser.gateway.proxy.protocols.anthropic import MessagesDialect, MessagesRequest, read_messages
from purser.gateway.proxy.protocols.openai import ChatDialect, read_chat
from purser.gateway.proxy.protocols.responses import ResponsesDialect
from purser.gateway.proxy.protocols.responses_input import read_responses
from tests.gateway.proxy.conftest import HELLO

Delta = dict[str, Any]
Dialect = ChatDialect | MessagesDialect | ResponsesDialect
CHARGED = Charged(Usage(input=1, output=1), 0)
REFUSAL: Sequence[Delta] = [{"refusal": "I will "}, {"refusal": "not."}]


def chat() -> ChatDialect:
    return ChatDialect(read_chat(json.dumps({"model": "gpt-4o", "messages": HELLO}).encode()))


def messages() -> MessagesDialect:
    body = {"model": "gpt-4o", "messages": HELLO, "max_tokens": 9}
    return MessagesDialect(MessagesRequest(read_messages(json.dumps(body).encode())))


def responses() -> ResponsesDialect:
    return ResponsesDialect(read_responses(json.dumps({"model": "gpt-4o", "input": "hi"}).encode()))


def call(index: int, arguments: str, name: str = "", call_id: str = "") -> Delta:
    function = {"arguments": arguments} | ({"name": name} if name else {})
    return {"tool_calls": [{"index": index, "function": function} | ({"id": call_id} if call_id else {})]}


MIXED = [call(0, '{"a"', "f", "c1"), call(1, '{"b"', "g", "c2"), call(0, ": 1}"), call(1, ": 2}")]


def received(deltas: Sequence[Delta], finish: str) -> PartialReply:
    partial = PartialReply()
    for delta in deltas:
        text = delta.get("content") or delta.get("refusal")
        partial.add(text, delta.get("tool_calls") or (), None)
    partial.finish_reason = finish
    return partial


def whole(dialect: Dialect, deltas: Sequence[Delta], finish: str = "stop") -> dict[str, Any]:
    for delta in deltas:
        dialect.add({"delta": delta})
    return dialect.whole(received(deltas, finish), CHARGED)


def streamed(dialect: Dialect, deltas: Sequence[Delta], finish: str = "stop") -> Iterator[Mapping[str, Any]]:
    sent = b"".join(dialect.part({"delta": delta}) for delta in deltas) + dialect.end(received(deltas, finish), CHARGED)
    for line in sent.decode().splitlines():
        if line.startswith("data: {"):
            yield json.loads(line[6:])


def blocks(events: Iterator[Mapping[str, Any]]) -> list[tuple[str, str, str]]:
    """The id, name and arguments of each block of a call in a stream of `messages`; one is open at a time."""
    found: list[tuple[str, str, str]] = []
    opened: int | None = None
    for event in events:
        match event["type"]:
            case "content_block_start":
                assert opened is None
                opened = event["index"]
                found.append((event["content_block"]["id"], event["content_block"]["name"], ""))
            case "content_block_delta":
                assert opened == event["index"]
                call_id, name, arguments = found[-1]
                found[-1] = (call_id, name, arguments + event["delta"]["partial_json"])
            case "content_block_stop":
                opened = None
    return found


def test_calls_whose_parts_are_mixed_are_whole_blocks_of_a_stream() -> None:
    assert blocks(streamed(messages(), MIXED, "tool_calls")) == [("c1", "f", '{"a": 1}'), ("c2", "g", '{"b": 2}')]


def test_an_id_that_is_repeated_is_replaced_in_streams_and_whole_replies_alike() -> None:
    same = [call(0, "{}", "f", "call_1"), call(1, "{}", "g", "call_1")]
    ids = ["call_1", "call_1_"]
    assert [one[0] for one in blocks(streamed(messages(), same))] == ids
    assert [one["id"] for one in whole(messages(), same)["content"]] == ids
    assert [one["call_id"] for one in whole(responses(), same)["output"]] == ids
    ended = list(streamed(responses(), same))[-1]
    assert [one["call_id"] for one in ended["response"]["output"]] == ids
    assert [one["id"] for one in whole(chat(), same)["choices"][0]["message"]["tool_calls"]] == ids


def test_a_call_that_is_cut_off_is_an_incomplete_item() -> None:
    cut = [{"content": "Look: "}, call(0, '{"a": "', "f", "c1")]
    for response in (whole(responses(), cut, "length"), list(streamed(responses(), cut, "length"))[-1]["response"]):
        assert (response["status"], response["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})
        assert [one["status"] for one in response["output"]] == ["completed", "incomplete"]


def test_a_refusal_is_shown_in_the_words_of_each_protocol() -> None:
    message = whole(chat(), REFUSAL)["choices"][0]["message"]
    assert (message["content"], message["refusal"]) == (None, "I will not.")
    part = {"type": "refusal", "refusal": "I will not."}
    assert [one["content"] for one in whole(responses(), REFUSAL)["output"]] == [[part]]
    events = list(streamed(responses(), REFUSAL))
    assert [one["delta"] for one in events if one["type"] == "response.refusal.delta"] == ["I will ", "not."]
    assert [one["refusal"] for one in events if one["type"] == "response.refusal.done"] == ["I will not."]
    assert events[-1]["response"]["output"][0]["content"] == [part]
    assert whole(messages(), REFUSAL)["content"] == [{"type": "text", "text": "I will not."}]
    texts = [one["delta"]["text"] for one in streamed(messages(), REFUSAL) if one["type"] == "content_block_delta"]
    assert texts == ["I will ", "not."]
