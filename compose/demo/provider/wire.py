"""The part of the OpenAI protocol that the provider supports: chat completions and embeddings."""

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class Wire(BaseModel):
    """Base of protocol values: immutable; fields that the provider does not use are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class FunctionCall(Wire):
    """The function that a tool call names."""

    name: str
    """Name of the function."""
    arguments: str
    """Its arguments as JSON text."""


class ToolCall(Wire):
    """One call of a tool by the model."""

    id: str
    """Id to which the tool's result refers."""
    type: Literal["function"] = "function"
    """The only type of tool call there is."""
    function: FunctionCall
    """The called function."""


class Message(Wire):
    """One message of a prompt."""

    role: str
    """`system`, `developer`, `user`, `assistant` or `tool`."""
    content: str | tuple[dict[str, Any], ...] | None = None
    """Text, parts (text, images), or None where there are only tool calls."""
    name: str | None = None
    """Name of the speaker, if the client sends one."""
    tool_calls: tuple[ToolCall, ...] | None = None
    """Tool calls of an assistant message."""
    tool_call_id: str | None = None
    """The call that a tool message answers."""

    @property
    def text(self) -> str:
        """The readable part of the content."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.get("text", "") for part in self.content or ())


class StreamOptions(Wire):
    """Options of a streamed answer."""

    include_usage: bool = False
    """Whether a last chunk reports the usage."""


class ChatRequest(Wire):
    """A request for one completion."""

    model: str = Field(min_length=1)
    """The requested model; any name is served."""
    messages: tuple[Message, ...] = Field(min_length=1)
    """The prompt."""
    tools: tuple[dict[str, Any], ...] | None = None
    """Definitions of the tools that the model may call."""
    tool_choice: str | dict[str, Any] | None = None
    """`none`, `auto`, `required`, or the function that the model has to call."""
    stream: bool = False
    """Whether the answer comes as server-sent events."""
    stream_options: StreamOptions | None = None
    """Options of the stream."""
    max_tokens: int | None = Field(default=None, ge=1)
    """Cap of the completion in tokens; the deprecated name."""
    max_completion_tokens: int | None = Field(default=None, ge=1)
    """Cap of the completion in tokens, reasoning included."""
    reasoning_effort: str | None = None
    """How much the model reasons: `none`, `minimal`, `low`, `medium` or `high`."""
    n: Literal[1] = 1
    """Number of completions; only one is supported."""

    @property
    def cap(self) -> int | None:
        """The effective cap, or None."""
        return self.max_completion_tokens or self.max_tokens

    @property
    def wants_usage(self) -> bool:
        """Whether the answer is to report its usage."""
        return not self.stream or (self.stream_options is not None and self.stream_options.include_usage)

    @property
    def text(self) -> str:
        """Text of the last message."""
        return self.messages[-1].text


class EmbeddingRequest(Wire):
    """A request for the vectors of some texts."""

    model: str = Field(min_length=1)
    """The requested model; any name is served."""
    input: str | tuple[str, ...] = Field(min_length=1)
    """The texts; a single text may come without a list."""
    dimensions: int | None = Field(default=None, ge=1, le=4096)
    """Length of the vectors."""
    encoding_format: Literal["float", "base64"] = "float"
    """Encoding of the vectors."""

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts."""
        return (self.input,) if isinstance(self.input, str) else self.input

    @property
    def text(self) -> str:
        """The first text."""
        return self.texts[0]

    @property
    def stream(self) -> bool:
        """Always false: embeddings are not streamed."""
        return False

    @property
    def wants_usage(self) -> bool:
        """Always true."""
        return True


class Usage(Wire):
    """Tokens of one completion."""

    prompt_tokens: int = Field(ge=0)
    """Tokens of the prompt, cached ones included."""
    completion_tokens: int = Field(ge=0)
    """Tokens of the completion, reasoning included."""
    cached_tokens: int = Field(default=0, ge=0)
    """Part of the prompt that came from the cache."""
    reasoning_tokens: int = Field(default=0, ge=0)
    """Part of the completion that was reasoning."""

    @property
    def total_tokens(self) -> int:
        """Tokens that the call is charged."""
        return self.prompt_tokens + self.completion_tokens

    def payload(self) -> dict[str, Any]:
        """The usage as the protocol's JSON."""
        return {
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "total_tokens": self.total_tokens,
            "prompt_tokens_details": {"cached_tokens": self.cached_tokens, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": self.reasoning_tokens, "audio_tokens": 0},
        }


@dataclass(frozen=True)
class Head:
    """The fields that every payload of one completion repeats."""

    id: str
    """Id of the completion."""
    created: int
    """Creation time in seconds since 1970."""
    model: str
    """The model that answers."""

    def completion(
        self, content: str | None, tool_calls: tuple[ToolCall, ...], finish_reason: str, usage: Usage | None
    ) -> dict[str, Any]:
        """The whole answer as one payload."""
        message: dict[str, Any] = {"role": "assistant", "content": content, "refusal": None}
        if tool_calls:
            message["tool_calls"] = [call.model_dump() for call in tool_calls]
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish_reason}
        body = self._payload("chat.completion", [choice])
        return body if usage is None else body | {"usage": usage.payload()}

    def chunk(self, delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
        """One chunk of a streamed answer."""
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        return self._payload("chat.completion.chunk", [choice])

    def usage_chunk(self, usage: Usage) -> dict[str, Any]:
        """The last chunk of a stream whose client requested the usage: it has no choices."""
        return self._payload("chat.completion.chunk", []) | {"usage": usage.payload()}

    def _payload(self, kind: str, choices: list[dict[str, Any]]) -> dict[str, Any]:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model, "choices": choices}


ModelRequest = ChatRequest | EmbeddingRequest
"""A request that the provider serves."""


def error_payload(message: str, kind: str, code: str | None = None) -> dict[str, Any]:
    """An error response body of the protocol."""
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}
