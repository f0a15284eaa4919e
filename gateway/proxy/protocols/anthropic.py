"""The dialect of Anthropic: `messages`, streamed or not, as its clients send and read it."""

import json
import uuid
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from purser.activities.models.anthropic_messages import as_chat
from purser.activities.models.partial_replies import CallIds, PartialReply
from purser.budget.errors import InvalidRequest
from purser.budget.usage import Usage
from purser.gateway.proxy.chat_call import ChatRequest
from purser.gateway.proxy.held_call import Charged
from purser.gateway.proxy.protocols.bodies import MAX_MESSAGES, MAX_TOOLS, Cap, Model, Objects, read_body
from purser.gateway.proxy.protocols.covered import check_covered
from purser.gateway.proxy.protocols.thinking import Block, ThinkingBlocks, text_of
from purser.gateway.proxy.verdicts import Denial

_CONVERTED = {"model", "messages", "tools", "max_tokens", "stream"}
_ROLES = ("user", "assistant", "system")
_STOPS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "content_filter": "refusal"}
_KINDS = {
    401: "authentication_error", 402: "billing_error", 403: "permission_error", 404: "not_found_error",
    413: "request_too_large", 429: "rate_limit_error",
}  # fmt: skip


class CountBody(BaseModel):
    """The part of a request that is counted."""

    model_config = ConfigDict(strict=True, frozen=True)

    model: Model
    messages: Annotated[Objects, Field(min_length=1, max_length=MAX_MESSAGES)]
    system: str | Objects | None = None
    tools: Annotated[Objects, Field(max_length=MAX_TOOLS)] | None = None
    tool_choice: dict[str, Any] | None = None
    thinking: dict[str, Any] | None = None


class MessagesBody(CountBody):
    """A request: what is counted, and what goes to the provider unchanged."""

    max_tokens: Cap
    stream: bool | None = None
    metadata: dict[str, Any] | None = None
    service_tier: str | None = None
    stop_sequences: list[str] | None = None
    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None


B = TypeVar("B", bound=CountBody)


class MessagesRequest:
    """A request, converted to the format of OpenAI. LiteLLM, which converts it, takes seconds to be imported."""

    def __init__(self, body: CountBody) -> None:
        """Raises `InvalidRequest` and `Unsupported`."""
        given = {name: value for name, value in body.model_dump().items() if value is not None}
        try:
            converted, self.tool_names = as_chat(given)
        except ValueError as error:
            raise InvalidRequest(f"messages is not valid: {error}") from None
        self.model = body.model
        self.streams = bool(getattr(body, "stream", False))
        options = {name: value for name, value in converted.items() if name not in _CONVERTED}
        cap: int | None = getattr(body, "max_tokens", None)
        self.asked = ChatRequest(body.model, converted["messages"], converted.get("tools") or (), cap, options)
        # What was converted: LiteLLM makes parameters of some tools.
        check_covered(self.asked.messages, self.asked.tools, options)


def read_messages(content: bytes) -> MessagesBody:
    """Reads the body of `messages`.

    Raises:
        RequestValidationError: it is not JSON.
        InvalidRequest: it is no such request; names the field, never its value.
    """
    return _checked(read_body(MessagesBody, content, set(MessagesBody.model_fields)))


def read_count(content: bytes) -> CountBody:
    """Reads the body of `messages/count_tokens`; raises as `read_messages` does."""
    return _checked(read_body(CountBody, content, set(CountBody.model_fields)))


def _checked(body: B) -> B:
    for place, message in enumerate(body.messages):
        if not isinstance(message.get("content"), str | list) or message.get("role") not in _ROLES:
            raise InvalidRequest(f"messages.{place} is not valid: give role, one of {', '.join(_ROLES)}, and content")
    for tool in body.tools or ():
        if "input_schema" not in tool:
            raise InvalidRequest("a tool without input_schema runs at its provider, at a price that no hold covers")
    return body


class MessagesDialect:
    """How one request is answered."""

    def __init__(self, request: MessagesRequest) -> None:
        self.streams = request.streams
        self._names = request.tool_names
        self._about = {
            "id": f"msg_{uuid.uuid4().hex}",
            "type": "message",
            "role": "assistant",
            "model": request.model,
            "stop_sequence": None,
        }
        self._thinking = ThinkingBlocks()
        self._open: str | int | None = None
        """The content block that is open: `text`, `thinking` with its place, or the number of a tool call."""
        self._blocks = 0
        self._later: dict[str | int, list[tuple[Mapping[str, Any], str, str, str]]] = {}
        """Parts that came while the block of a call was open: providers may mix the parts of calls."""
        self._ids = CallIds()
        self._id_of: dict[int, str] = {}
        self._begun = False

    def called(self, model: str) -> None:
        """Names the model that is called in the reply."""
        self._about["model"] = model

    def add(self, choice: Mapping[str, Any]) -> None:
        """Keeps a part of a reply that is sent as a whole: text and tool calls are in the partial reply."""
        self._thinking.add(_thoughts(choice["delta"]))

    def part(self, choice: Mapping[str, Any]) -> bytes:
        """The events of one part of a streamed reply."""
        delta = choice["delta"]
        events = [self._begin()]
        for place, fragment in self._thinking.add(_thoughts(delta)):
            events += self._thought_part(f"thinking {place}", fragment)
        if text := delta.get("content") or delta.get("refusal"):
            events.append(self._delta("text", {"type": "text", "text": ""}, "text_delta", "text", text))
        return b"".join((*events, *map(self._call_part, delta.get("tool_calls") or ())))

    def end(self, partial: PartialReply, charged: Charged) -> bytes:
        """The end of a streamed reply, with its usage and its cost."""
        delta = {"stop_reason": _stop(partial), "stop_sequence": None}
        return b"".join(
            (
                self._begin(),
                *self._rest(),
                self._close(),
                _event("message_delta", {"delta": delta, "usage": usage_of(charged.usage)}),
                charged.comment,
                _event("message_stop", {}),
            )
        )

    def whole(self, partial: PartialReply, charged: Charged) -> dict[str, Any]:
        """The whole reply."""
        message, content = partial.message().to_openai(), [_shown(block) for block in self._thinking.all]
        if message["content"]:
            content.append({"type": "text", "text": message["content"]})
        for call in message.get("tool_calls") or ():
            name, arguments = call["function"]["name"], call["function"]["arguments"]
            content.append(
                {"type": "tool_use", "id": call["id"], "name": self._named(name), "input": _arguments(arguments)}
            )
        about = {"content": content, "stop_reason": _stop(partial), "usage": usage_of(charged.usage)}
        return self._about | about

    def error_event(self, denial: Denial) -> bytes:
        """An error in the middle of a stream."""
        return _event("error", error_of(denial))

    def _begin(self) -> bytes:
        if self._begun:
            return b""
        self._begun = True
        about: dict[str, Any] = {"content": [], "stop_reason": None, "usage": usage_of(Usage())}
        return _event("message_start", {"message": self._about | about})

    def _thought_part(self, kind: str, fragment: Block) -> Iterator[bytes]:
        if fragment["type"] == "redacted_thinking":
            yield self._delta(kind, fragment, "", "", "")
        for event, field in (("thinking_delta", "thinking"), ("signature_delta", "signature")):
            if value := fragment.get(field):
                yield self._delta(kind, _shown({"type": "thinking"}), event, field, value)

    def _call_part(self, call: Mapping[str, Any]) -> bytes:
        function, number = call.get("function") or {}, call.get("index") or 0
        if number not in self._id_of:
            self._id_of[number] = self._ids.take(number, call.get("id") or "")
        block: dict[str, Any] = {
            "type": "tool_use",
            "id": self._id_of[number],
            "name": self._named(function.get("name") or ""),
            "input": {},
        }
        return self._delta(number, block, "input_json_delta", "partial_json", function.get("arguments") or "")

    def _rest(self) -> Iterator[bytes]:
        later, self._later = self._later, {}
        for kind, parts in later.items():
            yield self._close()
            for part in parts:
                yield self._delta(kind, *part)

    def _delta(self, kind: str | int, block: Mapping[str, Any], event: str, field: str, value: str) -> bytes:
        """A part of a content block; opens the block if another one or none is open, but waits for that of a call."""
        if isinstance(self._open, int) and self._open != kind:
            self._later.setdefault(kind, []).append((block, event, field, value))
            return b""
        events = []
        if self._open != kind:
            events.append(self._close())
            self._open = kind
            events.append(_event("content_block_start", {"index": self._blocks, "content_block": block}))
        if value:
            events.append(
                _event("content_block_delta", {"index": self._blocks, "delta": {"type": event, field: value}})
            )
        return b"".join(events)

    def _close(self) -> bytes:
        if self._open is None:
            return b""
        self._open, closed = None, self._blocks
        self._blocks += 1
        return _event("content_block_stop", {"index": closed})

    def _named(self, name: str) -> str:
        return self._names.get(name, name)


def usage_of(usage: Usage) -> dict[str, int]:
    """Usage as it is charged, in the words of Anthropic."""
    return {
        "input_tokens": usage.input + usage.unsplit,
        "cache_read_input_tokens": usage.cache_read,
        "cache_creation_input_tokens": usage.cache_write_5m + usage.cache_write_1h,
        "output_tokens": usage.output,
    }


def error_of(denial: Denial) -> dict[str, Any]:
    """The body of an error."""
    kind = _KINDS.get(denial.status, "api_error" if denial.status >= 500 else "invalid_request_error")
    error: dict[str, Any] = {"type": kind, "message": denial.message, "code": denial.code}
    if denial.details:
        error["purser"] = denial.details
    return {"type": "error", "error": error}


def _thoughts(delta: Mapping[str, Any]) -> object:
    """The fragments of reasoning in a part of a reply; what has no blocks is one that nobody has signed."""
    thought = text_of(delta.get("reasoning_content"))
    return delta.get("thinking_blocks") or ([{"type": "thinking", "thinking": thought}] if thought else ())


def _shown(block: Block) -> Block:
    """A block in the words of Anthropic, which always has a signature."""
    return {"type": "thinking", "thinking": "", "signature": "", **block} if block["type"] == "thinking" else block


def _stop(partial: PartialReply) -> str:
    return _STOPS.get(partial.finish_reason or "", "end_turn")


def _arguments(text: str) -> Any:
    """The arguments of a tool call; those of a reply that was cut off may be incomplete, and are left out."""
    try:
        return json.loads(text or "{}")
    except ValueError:
        return {}


def _event(name: str, fields: Mapping[str, Any]) -> bytes:
    data = json.dumps({"type": name, **fields})
    return f"event: {name}\ndata: {data}\n\n".encode()
