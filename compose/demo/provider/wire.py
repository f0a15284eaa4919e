"""The part of the OpenAI protocol that the provider supports: chat and text completions, responses, embeddings."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator


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
    name: str | None = Field(default=None, max_length=64, pattern=r"^[^\s<|\\/>]+$")
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

    @field_validator("messages")
    @classmethod
    def _results_follow_their_calls(cls, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        due: set[str] = set()
        for message in messages:
            if message.role != "tool":
                _refuse_missing(due)
                due = {call.id for call in message.tool_calls or ()}
            elif message.tool_call_id in due:
                due.remove(message.tool_call_id)
            else:
                raise ValueError("a message with role 'tool' must follow the message with its tool call")
        _refuse_missing(due)
        return messages

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


class CompletionRequest(Wire):
    """A request for one completion of a text: the protocol before that of chats."""

    model: str = Field(min_length=1)
    """The requested model; any name is served."""
    prompt: str | tuple[str, ...] = Field(min_length=1)
    """The text; several are read as one prompt."""
    stream: bool = False
    """Whether the answer comes as server-sent events."""
    stream_options: StreamOptions | None = None
    """Options of the stream."""
    max_tokens: int | None = Field(default=None, ge=1)
    """Cap of the completion in tokens."""
    n: Literal[1] = 1
    """Number of completions; only one is supported."""

    def chat(self) -> ChatRequest:
        """The same request as a chat."""
        prompts = (self.prompt,) if isinstance(self.prompt, str) else self.prompt
        return ChatRequest(
            model=self.model,
            messages=tuple(Message(role="user", content=text) for text in prompts),
            stream=self.stream,
            stream_options=self.stream_options,
            max_tokens=self.max_tokens,
        )


class ResponsesRequest(Wire):
    """A request for one response. Of its items only messages are supported."""

    model: str = Field(min_length=1)
    """The requested model; any name is served."""
    input: str | tuple[Message, ...] = Field(min_length=1)
    """The prompt."""
    instructions: str | None = None
    """The system message."""
    stream: bool = False
    """Whether the answer comes as server-sent events."""
    max_output_tokens: int | None = Field(default=None, ge=1)
    """Cap of the response in tokens."""

    def chat(self) -> ChatRequest:
        """The same request as a chat. Its usage is always reported."""
        said = (Message(role="user", content=self.input),) if isinstance(self.input, str) else self.input
        system = () if self.instructions is None else (Message(role="system", content=self.instructions),)
        return ChatRequest(
            model=self.model,
            messages=(*system, *said),
            stream=self.stream,
            stream_options=StreamOptions(include_usage=True),
            max_tokens=self.max_output_tokens,
        )


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

    def responses_payload(self) -> dict[str, Any]:
        """The usage as the JSON of responses."""
        return {
            "input_tokens": self.prompt_tokens,
            "input_tokens_details": {"cached_tokens": self.cached_tokens},
            "output_tokens": self.completion_tokens,
            "output_tokens_details": {"reasoning_tokens": self.reasoning_tokens},
            "total_tokens": self.total_tokens,
        }


ModelRequest = ChatRequest | EmbeddingRequest
"""A request that the provider serves."""


def error_payload(message: str, kind: str, code: str | None = None) -> dict[str, Any]:
    """An error response body of the protocol."""
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def _refuse_missing(due: set[str]) -> None:
    if due:
        raise ValueError(f"tool calls must be followed by their results: {', '.join(sorted(due))} has none")
