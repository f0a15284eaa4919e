"""How each protocol of OpenAI writes an answer: whole, or as a stream of payloads."""

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from purser.compose.demo.provider.tokens import Completion, Piece
from purser.compose.demo.provider.wire import Usage

Payload = dict[str, Any]


@dataclass
class Answer(ABC):
    """One answer, with the fields that its payloads repeat."""

    id: str
    """Id of the answer."""
    created: int
    """Creation time in seconds since 1970."""
    model: str
    """The model that answers."""
    last: ClassVar[bytes] = b"data: [DONE]\n\n"
    """What follows the payloads of a stream."""

    @abstractmethod
    def whole(self, done: Completion, usage: Usage | None) -> Payload:
        """The whole answer as one payload."""

    @abstractmethod
    def begin(self) -> Iterator[Payload]:
        """What comes before the first part of a stream."""

    @abstractmethod
    def part(self, pieces: Sequence[Piece]) -> Payload:
        """One part of a stream."""

    @abstractmethod
    def end(self, done: Completion, usage: Usage | None) -> Iterator[Payload]:
        """What comes after the last part of a stream; the last payload has the usage."""


class _Choices(Answer):
    """An answer in choices, of which there is one."""

    part_kind: ClassVar[str]

    def end(self, done: Completion, usage: Usage | None) -> Iterator[Payload]:
        """The usage comes without choices."""
        yield self._payload(self.part_kind, [self._choice(self._nothing(), done.finish_reason)])
        if usage is not None:
            yield self._payload(self.part_kind, [], usage)

    @abstractmethod
    def _nothing(self) -> Payload:
        """What a part adds that adds nothing."""

    def _choice(self, what: Payload, finish_reason: str | None) -> Payload:
        return {"index": 0, **what, "logprobs": None, "finish_reason": finish_reason}

    def _payload(self, kind: str, choices: list[Payload], usage: Usage | None = None) -> Payload:
        body = {"id": self.id, "object": kind, "created": self.created, "model": self.model, "choices": choices}
        return body if usage is None else body | {"usage": usage.payload()}


class ChatAnswer(_Choices):
    """A chat completion."""

    part_kind = "chat.completion.chunk"

    def whole(self, done: Completion, usage: Usage | None) -> Payload:
        message: Payload = {"role": "assistant", "content": done.content, "refusal": None}
        if done.tool_calls:
            message["tool_calls"] = [call.model_dump() for call in done.tool_calls]
        return self._payload("chat.completion", [self._choice({"message": message}, done.finish_reason)], usage)

    def begin(self) -> Iterator[Payload]:
        yield self._chunk({"role": "assistant", "content": ""})

    def part(self, pieces: Sequence[Piece]) -> Payload:
        return self._chunk(_delta(pieces))

    def _nothing(self) -> Payload:
        return {"delta": {}}

    def _chunk(self, delta: Payload) -> Payload:
        return self._payload(self.part_kind, [self._choice({"delta": delta}, None)])


class TextAnswer(_Choices):
    """A completion of a text. It has no calls of tools."""

    part_kind = "text_completion"

    def whole(self, done: Completion, usage: Usage | None) -> Payload:
        return self._payload(self.part_kind, [self._choice({"text": done.content}, done.finish_reason)], usage)

    def begin(self) -> Iterator[Payload]:
        return iter(())

    def part(self, pieces: Sequence[Piece]) -> Payload:
        return self._payload(self.part_kind, [self._choice({"text": _text(pieces)}, None)])

    def _nothing(self) -> Payload:
        return {"text": ""}


@dataclass
class ResponsesAnswer(Answer):
    """A response: one message. It has no calls of tools."""

    last: ClassVar[bytes] = b""
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def whole(self, done: Completion, usage: Usage | None) -> Payload:
        cut = done.finish_reason == "length"
        return self._response(
            "incomplete" if cut else "completed",
            incomplete_details={"reason": "max_output_tokens"} if cut else None,
            output=[self._message([_part(done.content or "")], "completed")],
            usage=None if usage is None else usage.responses_payload(),
        )

    def begin(self) -> Iterator[Payload]:
        yield self._event("response.created", response=self._response("in_progress"))
        yield self._event("response.output_item.added", output_index=0, item=self._message([], "in_progress"))
        yield self._event("response.content_part.added", **self._place(), part=_part(""))

    def part(self, pieces: Sequence[Piece]) -> Payload:
        return self._event("response.output_text.delta", **self._place(), delta=_text(pieces), logprobs=[])

    def end(self, done: Completion, usage: Usage | None) -> Iterator[Payload]:
        response = self.whole(done, usage)
        (item,) = response["output"]
        (part,) = item["content"]
        yield self._event("response.output_text.done", **self._place(), text=part["text"], logprobs=[])
        yield self._event("response.content_part.done", **self._place(), part=part)
        yield self._event("response.output_item.done", output_index=0, item=item)
        yield self._event(f"response.{response['status']}", response=response)

    def _response(self, status: str, **more: Any) -> Payload:
        about = {"id": self.id, "object": "response", "created_at": self.created, "model": self.model}
        empty: Payload = {"error": None, "incomplete_details": None, "output": [], "usage": None}
        fixed = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
        return about | fixed | empty | {"status": status, **more}

    def _message(self, content: list[Payload], status: str) -> Payload:
        return {"id": f"msg-{self.id}", "type": "message", "status": status, "role": "assistant", "content": content}

    def _place(self) -> Payload:
        return {"item_id": f"msg-{self.id}", "output_index": 0, "content_index": 0}

    def _event(self, name: str, **fields: Any) -> Payload:
        return {"type": name, "sequence_number": next(self._numbers), **fields}


def _part(text: str) -> Payload:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _text(pieces: Sequence[Piece]) -> str:
    return "".join(piece.content for piece in pieces)


def _delta(pieces: Sequence[Piece]) -> Payload:
    """What a chunk adds: text, beginnings of tool calls, parts of their arguments."""
    calls: dict[int, Payload] = {}
    for piece in pieces:
        if piece.call is None:
            continue
        call = calls.setdefault(piece.call, {"index": piece.call, "function": {"arguments": ""}})
        if piece.opens is not None:
            call |= {"id": piece.opens.id, "type": "function"}
            call["function"]["name"] = piece.opens.function.name
        call["function"]["arguments"] += piece.arguments
    text = _text(pieces)
    delta: Payload = {"content": text} if text or not calls else {}
    return delta | ({"tool_calls": list(calls.values())} if calls else {})
