"""The dialect of OpenAI's `responses`: items instead of messages, streamed as events or sent as a whole."""

import json
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from purser.activities.models.partial_replies import CallIds, PartialReply
from purser.budget.usage import Usage
from purser.gateway.proxy.held_call import Charged
from purser.gateway.proxy.protocols.openai import error_of
from purser.gateway.proxy.protocols.responses_input import ResponsesBody
from purser.gateway.proxy.protocols.thinking import ThinkingBlocks, seal, text_of
from purser.gateway.proxy.verdicts import Denial

_INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}
_TEXTS: Mapping[str, tuple[str, str, Sequence[str]]] = {
    "content": ("output_text", "text", ("annotations", "logprobs")),
    "refusal": ("refusal", "refusal", ()),
}
"""By field of a chat's delta: the type of its part, the field of the part with the text, and its empty lists."""
_PART = "content_part"
_SUMMARY = "reasoning_summary_part"
Event = tuple[str, dict[str, Any]]


class ResponsesDialect:
    """How one request is answered."""

    def __init__(self, body: ResponsesBody) -> None:
        self.streams = bool(body.stream)
        self._about: dict[str, Any] = {
            "id": f"resp_{uuid.uuid4().hex}",
            "object": "response",
            "created_at": int(time.time()),
            "error": None,
            "incomplete_details": None,
            "instructions": body.instructions,
            "max_output_tokens": body.max_output_tokens,
            "metadata": body.metadata or {},
            "model": body.model,
            "parallel_tool_calls": body.parallel_tool_calls is not False,
            "previous_response_id": None,
            "reasoning": {"effort": body.reasoning.effort if body.reasoning else None, "summary": None},
            "store": False,
            "temperature": body.temperature,
            "text": {"format": (body.text and body.text.format) or {"type": "text"}},
            "tool_choice": body.tool_choice or "auto",
            "tools": body.tools or [],
            "top_p": body.top_p,
            "truncation": "disabled",
        }
        self._items = _Items(body.model if body.returns_reasoning else None)
        self._sent = 0
        self._begun = False

    def called(self, model: str) -> None:
        """Names the model that is called in the reply."""
        self._about["model"] = model

    def add(self, choice: Mapping[str, Any]) -> None:
        """Keeps a part of a reply that is sent as a whole."""
        for _ in self._items.add(choice["delta"]):
            pass

    def part(self, choice: Mapping[str, Any]) -> bytes:
        """The events of one part of a streamed reply."""
        return b"".join((*self._begin(), *map(self._event, self._items.add(choice["delta"]))))

    def end(self, partial: PartialReply, charged: Charged) -> bytes:
        """The end of a streamed reply, with its usage and its cost."""
        ended = [*self._begin(), *map(self._event, self._items.close(_status(partial)))]
        response = self.whole(partial, charged)
        return b"".join(
            (*ended, charged.comment, self._event((f"response.{response['status']}", {"response": response})))
        )

    def whole(self, partial: PartialReply, charged: Charged) -> dict[str, Any]:
        """The whole reply."""
        status = _status(partial)
        for _ in self._items.close(status):
            pass
        reason = _INCOMPLETE.get(partial.finish_reason or "")
        about = {"status": status} | ({"incomplete_details": {"reason": reason}} if reason else {})
        return self._about | about | {"output": self._items.all, "usage": usage_of(charged.usage)}

    def error_event(self, denial: Denial) -> bytes:
        """An error in the middle of a stream: `error` is what makes clients raise it."""
        error = {"code": denial.code, "message": denial.message, "param": None} | error_of(denial)
        return self._event(("error", error))

    def _begin(self) -> Iterator[bytes]:
        if not self._begun:
            self._begun = True
            response = self._about | {"status": "in_progress", "output": [], "usage": None}
            yield self._event(("response.created", {"response": response}))
            yield self._event(("response.in_progress", {"response": response}))

    def _event(self, event: Event) -> bytes:
        name, fields = event
        data = {"type": name, "sequence_number": self._sent, **fields}
        self._sent += 1
        return f"event: {name}\ndata: {json.dumps(data)}\n\n".encode()


class _Items:
    """The items of a reply while it arrives: reasoning, text, and each call of a tool."""

    def __init__(self, sealed_for: str | None) -> None:
        """Signed reasoning is sealed for the named model; `None`: it is left out."""
        self.all: list[dict[str, Any]] = []
        self._sealed_for = sealed_for
        self._thinking = ThinkingBlocks()
        """The blocks of the open reasoning."""
        self._open: dict[str | int, int] = {}
        """Places of open items: `reasoning`, a kind of `_TEXTS`, or the number of a call."""
        self._ids = CallIds()

    def add(self, delta: Mapping[str, Any]) -> Iterator[Event]:
        """Adds a part; yields its events."""
        blocks = self._sealed_for is not None and self._thinking.add(delta.get("thinking_blocks"))
        if (thought := text_of(delta.get("reasoning_content"))) or blocks:
            yield from self._reason(thought)
        for kind in _TEXTS:
            if text := delta.get(kind):
                yield from self._say(kind, text)
        for call in delta.get("tool_calls") or ():
            yield from self._call(call)

    def close(self, status: str) -> Iterator[Event]:
        """Ends all open items, the last one with the status of the reply; yields their events."""
        for kind in tuple(self._open):
            is_last = self._open[kind] == len(self.all) - 1
            yield from self._end(kind, status if is_last else "completed")

    def _reason(self, thought: str) -> Iterator[Event]:
        if "reasoning" not in self._open:
            yield from self._begin("reasoning", {"type": "reasoning", "id": _id("rs"), "summary": []})
        if not thought:
            return
        summary = self._item("reasoning")["summary"]
        if not summary:
            part = {"type": "summary_text", "text": ""}
            summary.append(part)
            yield f"response.{_SUMMARY}.added", self._place("reasoning", "summary_index") | {"part": dict(part)}
        summary[0]["text"] += thought
        yield "response.reasoning_summary_text.delta", self._place("reasoning", "summary_index") | {"delta": thought}

    def _say(self, kind: str, text: str) -> Iterator[Event]:
        name, field, more = _TEXTS[kind]
        if kind not in self._open:
            yield from self._end("reasoning")
            item = {"type": "message", "id": _id("msg"), "status": "in_progress", "role": "assistant", "content": []}
            yield from self._begin(kind, item)
            part = {"type": name, field: ""} | {one: list[Any]() for one in more}
            self._item(kind)["content"].append(part)
            yield f"response.{_PART}.added", self._place(kind, "content_index") | {"part": dict(part)}
        self._item(kind)["content"][0][field] += text
        logprobs = {"logprobs": list[Any]()} if "logprobs" in more else {}
        yield f"response.{name}.delta", self._place(kind, "content_index") | {"delta": text} | logprobs

    def _call(self, call: Mapping[str, Any]) -> Iterator[Event]:
        function, number = call.get("function") or {}, call.get("index") or 0
        if number not in self._open:
            for kind in ("reasoning", *_TEXTS):
                yield from self._end(kind)
            item = {
                "type": "function_call",
                "id": _id("fc"),
                "call_id": self._ids.take(number, call.get("id") or ""),
                "name": function.get("name") or "",
                "arguments": "",
                "status": "in_progress",
            }
            yield from self._begin(number, item)
        if arguments := function.get("arguments"):
            self._item(number)["arguments"] += arguments
            yield "response.function_call_arguments.delta", self._place(number) | {"delta": arguments}

    def _begin(self, kind: str | int, item: dict[str, Any]) -> Iterator[Event]:
        self._open[kind] = len(self.all)
        self.all.append(item)
        shown = {name: list(part) if isinstance(part, list) else part for name, part in item.items()}
        yield "response.output_item.added", {"output_index": self._open[kind], "item": shown}

    def _end(self, kind: str | int, status: str = "completed") -> Iterator[Event]:
        if kind not in self._open:
            return
        item = self._item(kind)
        if kind == "reasoning":
            yield from self._end_reasoning(item)
        elif isinstance(kind, str):
            name, field, more = _TEXTS[kind]
            place, part = self._place(kind, "content_index"), item["content"][0]
            logprobs = {"logprobs": list[Any]()} if "logprobs" in more else {}
            yield f"response.{name}.done", place | {field: part[field]} | logprobs
            yield f"response.{_PART}.done", place | {"part": part}
        else:
            named = {"name": item["name"], "arguments": item["arguments"]}
            yield "response.function_call_arguments.done", self._place(kind) | named
        if "status" in item:
            item["status"] = status
        yield "response.output_item.done", {"output_index": self._open.pop(kind), "item": item}

    def _end_reasoning(self, item: dict[str, Any]) -> Iterator[Event]:
        for part in item["summary"]:
            place = self._place("reasoning", "summary_index")
            yield "response.reasoning_summary_text.done", place | {"text": part["text"]}
            yield f"response.{_SUMMARY}.done", place | {"part": part}
        blocks, self._thinking = self._thinking.all, ThinkingBlocks()
        if self._sealed_for is not None and (sealed := seal(blocks, self._sealed_for)):
            item["encrypted_content"] = sealed

    def _item(self, kind: str | int) -> dict[str, Any]:
        return self.all[self._open[kind]]

    def _place(self, kind: str | int, *index: str) -> dict[str, Any]:
        return {"item_id": self._item(kind)["id"], "output_index": self._open[kind], **dict.fromkeys(index, 0)}


def usage_of(usage: Usage) -> dict[str, Any]:
    """Usage as it is charged, in the words of `responses`."""
    return {
        "input_tokens": usage.prompt,
        "input_tokens_details": {"cached_tokens": usage.cache_read},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning or 0},
        "total_tokens": usage.total,
    }


def _status(partial: PartialReply) -> str:
    return "incomplete" if partial.finish_reason in _INCOMPLETE else "completed"


def _id(prefix: str) -> str:
    return f"{prefix}_{uuid.uuid4().hex}"
