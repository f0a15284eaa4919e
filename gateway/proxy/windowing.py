"""The window of a call that asks for one: its messages pass the engine that serves tasks and sessions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from purser.budget.errors import InvalidRequest
from purser.context.conversation.messages import Message
from purser.context.errors import WindowTooSmall
from purser.context.strategies import StrategyName
from purser.context.tokens import PER_CONVERSATION, count_message, count_request, count_text
from purser.context.tokens.messages import further_fields
from purser.context.windows import Window, build_window
from purser.context.windows.runs import joined
from purser.gateway.proxy.protocols.thinking import has_signed

_READ = ("role", "content", "name", "tool_calls", "tool_call_id")
"""Fields of a message by which the engine decides. A message that stays is sent with all of its fields."""
_MOST_RUNS = 50
"""Most runs of messages that a header lists."""


@dataclass(frozen=True, slots=True)
class WindowTerms:
    """The window for which a request asks."""

    strategy: StrategyName
    tokens: int | None
    """Most tokens of messages and tools; `None`: what the model takes besides its reply."""


@dataclass(frozen=True, slots=True)
class Windowed:
    """What a model sees of the messages of a request."""

    messages: Sequence[Mapping[str, Any]]
    headers: Mapping[str, str]
    """What was left out, for the answer."""


def windowed(
    messages: Sequence[Mapping[str, Any]],
    tools: Sequence[Mapping[str, Any]],
    terms: WindowTerms,
    *,
    model: str,
    room: int,
) -> Windowed:
    """Builds the window of one request. Summaries are extracts: no further model is called.

    Args:
        messages, tools: of the request, in the format of OpenAI.
        terms: strategy and size.
        model: the model that is called.
        room: tokens that the model takes besides its reply.

    Raises:
        InvalidMessage: a message is malformed.
        InvalidRequest: tools and reply leave no room for messages.
        WindowTooSmall: the messages that always stay do not fit.
    """
    most = room if terms.tokens is None else min(terms.tokens, room)
    budget = most - (count_request((), tools, model).tokens - PER_CONVERSATION)
    if budget <= 0:
        left = f"the reply leaves {most}, and the tools take {most - budget}"
        raise InvalidRequest(f"Purser-Window leaves no token for messages: {left}; raise Purser-Window-Tokens")
    window, tokens = _built(messages, model=model, strategy=terms.strategy, budget=budget)
    shown = [
        message.to_openai() if index is None or index in window.changed else messages[index]
        for index, message in zip(window.indexes, window.messages, strict=True)
    ]
    in_part = sorted(each.index for each in (*window.stats.clipped, *window.stats.cleared))
    return Windowed(shown, _headers(window, tokens, in_part))


def _built(
    messages: Sequence[Mapping[str, Any]], *, model: str, strategy: StrategyName, budget: int
) -> tuple[Window, int]:
    """The window and its tokens. A message with signed reasoning is shown whole, or not at all."""
    read = [Message.parse(_readable(one), at) for at, one in enumerate(messages)]
    counts = [_count(one, model) for one in messages]
    whole: dict[int, int] = {}
    while True:
        reserved = sum(whole.values())
        free = [0 if at in whole else tokens for at, tokens in enumerate(counts)]
        try:
            window = build_window(read, budget=max(1, budget - reserved), model=model, strategy=strategy, counts=free)
        except WindowTooSmall as error:
            parts = {f"signed reasoning and its message, index {at}": tokens for at, tokens in whole.items()}
            raise WindowTooSmall(error.parts | parts, budget=budget) from None
        cut = [at for at in window.changed if at not in whole and has_signed(messages[at])]
        if not cut:
            return window, window.tokens + reserved
        whole |= {at: counts[at] for at in cut}


def _readable(message: Mapping[str, Any]) -> dict[str, Any]:
    """What the engine reads of a message; a refusal comes in place of the text."""
    read = {name: message[name] for name in _READ if name in message}
    return read if read.get("content") is not None else {**read, "content": message.get("refusal")}


def _count(message: Mapping[str, Any], model: str) -> int:
    """Tokens that a message takes as it is sent, with its reasoning and with fields that no chat message has."""
    further = (count_text(text, model).tokens for text in further_fields(message))
    return count_message(message, model).tokens + sum(further)


def _headers(window: Window, tokens: int, in_part: Sequence[int]) -> dict[str, str]:
    """Places of messages are those in the request, from 0."""
    runs = {
        "Purser-Window-Dropped": joined((index, index) for index, _ in window.dropped),
        "Purser-Window-Summarized": window.summarised,
        "Purser-Window-In-Part": joined((index, index) for index in in_part),
    }
    sizes = {"Purser-Window": str(window.strategy), "Purser-Window-Tokens": str(tokens)}
    sizes["Purser-Window-Left-Out"] = str(window.stats.messages_removed)
    return sizes | {name: _listed(places) for name, places in runs.items() if places}


def _listed(runs: Sequence[tuple[int, int]]) -> str:
    shown = [str(first) if first == last else f"{first}-{last}" for first, last in runs[:_MOST_RUNS]]
    return ", ".join([*shown, f"and {len(runs) - _MOST_RUNS} more"] if len(runs) > _MOST_RUNS else shown)
