"""The dialect of OpenAI: `chat/completions`, streamed or not, as its clients send and read it."""

import base64
import json
import struct
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from purser.activities.models.embedding_requests import Embeddings
from purser.activities.models.partial_replies import PartialReply
from purser.budget.usage import Usage
from purser.gateway.proxy.chat_call import ChatRequest
from purser.gateway.proxy.embedding_call import VectorsRequest
from purser.gateway.proxy.held_call import Charged
from purser.gateway.proxy.protocols.bodies import (
    MAX_MESSAGES,
    MAX_TEXTS,
    MAX_TOOLS,
    Cap,
    Model,
    Objects,
    PassedOn,
    options_of,
    read_body,
)
from purser.gateway.proxy.protocols.covered import NEVER, check_covered
from purser.gateway.proxy.protocols.thinking import ThinkingBlocks
from purser.gateway.proxy.verdicts import Denial

DONE = b"data: [DONE]\n\n"
_CALL = ("index", "id", "type", "function")
"""Fields of the part of a tool call."""
Text = Annotated[str, Field(min_length=1)]


class _StreamOptions(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")

    include_usage: bool = False


class ChatOptions(PassedOn):
    """Parameters that go to the provider unchanged; texts in them are counted."""

    frequency_penalty: float | None = None
    logit_bias: dict[str, Any] | None = None
    logprobs: bool | None = None
    metadata: dict[str, Any] | None = None
    modalities: list[str] | None = None
    presence_penalty: float | None = None
    reasoning_effort: str | None = None
    response_format: dict[str, Any] | None = None
    seed: int | None = None
    stop: str | list[str] | None = None
    store: bool | None = None
    thinking: dict[str, Any] | None = None
    tool_choice: str | dict[str, Any] | None = None
    top_logprobs: int | None = None
    verbosity: str | None = None


class ChatBody(ChatOptions):
    """A chat request."""

    model: Model
    messages: Annotated[Objects, Field(min_length=1, max_length=MAX_MESSAGES)]
    tools: Annotated[Objects, Field(max_length=MAX_TOOLS)] | None = None
    max_tokens: Cap | None = None
    max_completion_tokens: Cap | None = None
    stream: bool | None = None
    stream_options: _StreamOptions | None = None
    n: Annotated[int, Field(ge=1, le=1)] | None = None

    def asked(self) -> ChatRequest:
        """What the model is asked."""
        cap = self.max_completion_tokens or self.max_tokens
        return ChatRequest(self.model, self.messages, self.tools or (), cap, options_of(ChatOptions, self))


class EmbeddingsBody(BaseModel):
    """A request for vectors."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    model: Model
    input: Text | Annotated[list[Text], Field(min_length=1, max_length=MAX_TEXTS)]
    dimensions: Annotated[int, Field(ge=1, le=100_000)] | None = None
    encoding_format: Literal["float", "base64"] | None = None
    user: str | None = None

    def asked(self) -> VectorsRequest:
        """The texts for which vectors are wanted."""
        texts = [self.input] if isinstance(self.input, str) else self.input
        return VectorsRequest(self.model, texts, self.dimensions)

    def answer(self, found: Embeddings, charged: Charged) -> dict[str, Any]:
        """The vectors, in the order of the texts."""
        data = [
            {"object": "embedding", "index": place, "embedding": self._encoded(vector)}
            for place, vector in enumerate(found.vectors)
        ]
        usage = {"prompt_tokens": charged.usage.prompt, "total_tokens": charged.usage.total}
        return {"object": "list", "data": data, "model": self.model, "usage": usage}

    def _encoded(self, vector: Sequence[float]) -> Sequence[float] | str:
        if self.encoding_format != "base64":
            return vector
        return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def read_chat(content: bytes) -> ChatBody:
    """Reads the body of a chat request.

    Raises:
        RequestValidationError: it is not JSON.
        InvalidRequest: it is not a chat request; names the field, never its value.
        Unsupported: it asks for something whose price no hold covers.
    """
    body = read_body(ChatBody, content, {*ChatBody.model_fields, *NEVER})
    check_covered(body.messages, body.tools or (), options_of(ChatOptions, body) | (body.model_extra or {}))
    return body


def read_embeddings(content: bytes) -> EmbeddingsBody:
    """Reads the body of a request for vectors; raises as `read_chat` does."""
    return read_body(EmbeddingsBody, content, set(EmbeddingsBody.model_fields))


class ChatDialect:
    """How one chat request is answered."""

    def __init__(self, body: ChatBody) -> None:
        self.streams = bool(body.stream)
        self._reports_usage = body.stream_options is not None and body.stream_options.include_usage
        self._about = {"id": f"chatcmpl-{uuid.uuid4().hex}", "created": int(time.time()), "model": body.model}
        self._delta: dict[str, Any] = {}
        self._thinking = ThinkingBlocks()
        self._calls: dict[int, dict[str, Any]] = {}
        """Fields of tool calls besides those of the API, such as the `extra_content` of Google, by number."""
        self._logprobs: list[Any] = []

    def called(self, model: str) -> None:
        """Names the model that is called in the reply."""
        self._about["model"] = model

    def add(self, choice: Mapping[str, Any]) -> None:
        """Keeps a part of a reply that is sent as a whole."""
        delta = dict(choice.get("delta") or {})
        self._thinking.add(delta.pop("thinking_blocks", ()))
        self._add_calls(delta.pop("tool_calls", None) or ())
        further = delta.pop("provider_specific_fields", None)
        if isinstance(further, dict):  # LiteLLM repeats the fragments there
            further = {name: part for name, part in further.items() if name != "thinking_blocks"}
        if further:
            delta["provider_specific_fields"] = further
        for name, part in delta.items():
            known = self._delta.get(name)
            if isinstance(part, str) and isinstance(known, str) and name != "role":
                self._delta[name] = known + part
            elif isinstance(part, list) and isinstance(known, list):
                self._delta[name] = [*known, *part]
            else:
                self._delta[name] = part
        self._logprobs += (choice.get("logprobs") or {}).get("content") or ()

    def _add_calls(self, calls: Sequence[Mapping[str, Any]]) -> None:
        for call in calls:
            further = {name: part for name, part in call.items() if name not in _CALL}
            self._calls.setdefault(call.get("index") or 0, {}).update(further)

    def part(self, choice: Mapping[str, Any]) -> bytes:
        """One part of a streamed reply."""
        named = {"index": 0, "delta": choice.get("delta") or {}, "finish_reason": choice.get("finish_reason")}
        if choice.get("logprobs"):
            named["logprobs"] = choice["logprobs"]
        return self._event({"choices": [named]})

    def end(self, partial: PartialReply, charged: Charged) -> bytes:
        """The end of a streamed reply: its usage if it was asked for, and its cost."""
        usage = self._event({"choices": [], "usage": usage_of(charged.usage)}) if self._reports_usage else b""
        return usage + charged.comment + DONE

    def whole(self, partial: PartialReply, charged: Charged) -> dict[str, Any]:
        """The whole reply."""
        rest = {name: part for name, part in self._delta.items() if name not in ("content", "role")}
        if blocks := self._thinking.all:
            rest["thinking_blocks"] = blocks
        # The parts of tool calls are those that are charged, complete and with usable ids.
        message = {"role": "assistant", "content": None, **rest} | partial.message().to_openai()
        if calls := message.get("tool_calls"):
            message["tool_calls"] = [{**call, **self._calls.get(place, {})} for place, call in enumerate(calls)]
        if "refusal" in rest:
            message["content"] = self._delta.get("content")
        choice = {"index": 0, "message": message, "finish_reason": partial.finish_reason, "logprobs": None}
        if self._logprobs:
            choice["logprobs"] = {"content": self._logprobs}
        return self._about | {"object": "chat.completion", "choices": [choice], "usage": usage_of(charged.usage)}

    def error_event(self, denial: Denial) -> bytes:
        """An error in the middle of a stream."""
        return b"data: " + json.dumps(error_of(denial)).encode() + b"\n\n"

    def _event(self, fields: Mapping[str, Any]) -> bytes:
        chunk = self._about | {"object": "chat.completion.chunk", **fields}
        return b"data: " + json.dumps(chunk).encode() + b"\n\n"


def usage_of(usage: Usage) -> dict[str, Any]:
    """Usage as it is charged, in the words of OpenAI."""
    found: dict[str, Any] = {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.output,
        "total_tokens": usage.total,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read},
    }
    if usage.reasoning is not None:
        found["completion_tokens_details"] = {"reasoning_tokens": usage.reasoning}
    return found


def error_of(denial: Denial) -> dict[str, Any]:
    """The body of an error."""
    kinds = {401: "authentication_error", 402: "insufficient_quota", 403: "permission_error", 429: "rate_limit_error"}
    kind = kinds.get(denial.status, "api_error" if denial.status >= 500 else "invalid_request_error")
    error: dict[str, Any] = {"message": denial.message, "type": kind, "param": None, "code": denial.code}
    if denial.details:
        error["purser"] = denial.details
    return {"error": error}
