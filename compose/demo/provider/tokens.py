"""Token counting of the provider: o200k_base, the encoding of the gpt-4o family, without network access.

A prompt costs its contents (texts, tool names and arguments, tool definitions), 4 tokens per message and 3 per
request. Tokens without text are negative numbers, so that a prompt is one sequence whose prefixes can be compared.
"""

import codecs
import importlib.util
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

import tiktoken

from purser.compose.demo.provider.script import Reply
from purser.compose.demo.provider.wire import ChatRequest, Message, ToolCall

ROLES = ("system", "developer", "user", "assistant", "tool", "function")
IMAGE_TOKENS = 85
REASONING_TOKENS = {"minimal": 16, "low": 64, "medium": 128, "high": 256}

_FRAME, _END, _REQUEST, _IMAGE = -1, -2, -3, -4


@cache
def encoding() -> tiktoken.Encoding:
    """o200k_base from the copy that LiteLLM ships, so that nothing is downloaded and LiteLLM is not imported."""
    spec = importlib.util.find_spec("litellm")
    if spec is not None and spec.submodule_search_locations:
        folder = Path(spec.submodule_search_locations[0]) / "litellm_core_utils" / "tokenizers"
        os.environ.setdefault("TIKTOKEN_CACHE_DIR", str(folder))
    return tiktoken.get_encoding("o200k_base")


@lru_cache(maxsize=4096)
def encode(text: str) -> tuple[int, ...]:
    """The tokens of a text; special tokens in it are plain text. Cached, because prompts repeat earlier messages."""
    return tuple(encoding().encode_ordinary(text))


def prompt_tokens(request: ChatRequest) -> list[int]:
    """A prompt as one sequence of tokens, in the order in which providers cache it: tools, then messages."""
    tokens = [_REQUEST] * 3
    for tool in request.tools or ():
        tokens.extend(encode(json.dumps(tool.get("function", tool), separators=(",", ":"), ensure_ascii=False)))
    for message in request.messages:
        tokens.extend(_message_tokens(message))
    return tokens


def _message_tokens(message: Message) -> Iterator[int]:
    role = ROLES.index(message.role) if message.role in ROLES else len(ROLES)
    yield from (_FRAME, -10 - role, _END)
    yield from encode(message.text)
    if isinstance(message.content, tuple):
        for part in message.content:
            yield from [_IMAGE] * (IMAGE_TOKENS if part.get("type") == "image_url" else 0)
    for call in message.tool_calls or ():
        yield from encode(call.function.name)
        yield from encode(call.function.arguments)
    yield _END


@dataclass(frozen=True)
class Piece:
    """The smallest part of a completion that can be sent: one token, or the name of a tool call."""

    tokens: int
    """Its number of tokens."""
    content: str = ""
    """Text that it appends to the content; empty while a character is incomplete."""
    call: int | None = None
    """Index of the tool call to which it belongs, or None."""
    opens: ToolCall | None = None
    """The tool call that begins here, or None."""
    arguments: str = ""
    """Text that it appends to the arguments of its tool call."""


@dataclass(frozen=True)
class Completion:
    """A reply truncated to its cap."""

    pieces: tuple[Piece, ...]
    """The pieces to send, in order."""
    reasoning_tokens: int
    """Reasoning tokens, which are charged and not sent."""
    finish_reason: str
    """`stop`, `tool_calls`, or `length` if the cap truncated it."""

    @property
    def tokens(self) -> int:
        """Tokens of the completion, reasoning included."""
        return self.reasoning_tokens + sum(piece.tokens for piece in self.pieces)

    @property
    def content(self) -> str | None:
        """The text; None if there are only tool calls."""
        text = "".join(piece.content for piece in self.pieces)
        return text if text or not self.tool_calls else None

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The tool calls; the last one has truncated arguments if the cap fell within it."""
        calls: list[ToolCall] = []
        for piece in self.pieces:
            if piece.opens is not None:
                empty = piece.opens.function.model_copy(update={"arguments": ""})
                calls.append(piece.opens.model_copy(update={"function": empty}))
            elif piece.call is not None:
                function = calls[-1].function
                grown = function.model_copy(update={"arguments": function.arguments + piece.arguments})
                calls[-1] = calls[-1].model_copy(update={"function": grown})
        return tuple(calls)


def complete(reply: Reply, request: ChatRequest) -> Completion:
    """The part of a reply that fits the request's cap, reasoning first."""
    left = request.cap
    reasoning = REASONING_TOKENS.get(request.reasoning_effort or "none", 0)
    if left is not None:
        reasoning = min(reasoning, left)
        left -= reasoning
    whole = tuple(_pieces(reply))
    sent = whole if left is None else _fitting(whole, left)
    if len(sent) < len(whole):
        return Completion(sent, reasoning, "length")
    return Completion(sent, reasoning, "tool_calls" if reply.tool_calls else "stop")


def _fitting(pieces: Sequence[Piece], cap: int) -> tuple[Piece, ...]:
    used = 0
    for index, piece in enumerate(pieces):
        used += piece.tokens
        if used > cap:
            return tuple(pieces[:index])
    return tuple(pieces)


def _pieces(reply: Reply) -> Iterator[Piece]:
    for text in _token_texts(reply.content or ""):
        yield Piece(1, content=text)
    for index, call in enumerate(reply.tool_calls):
        yield Piece(len(encode(call.function.name)), call=index, opens=call)
        for text in _token_texts(call.function.arguments):
            yield Piece(1, call=index, arguments=text)


def _token_texts(text: str) -> Iterator[str]:
    """One text per token; a character that spans several tokens comes with the last of them."""
    decoder = codecs.getincrementaldecoder("utf-8")("ignore")
    for token in encode(text):
        yield decoder.decode(encoding().decode_single_token_bytes(token))
