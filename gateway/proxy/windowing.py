"""The window of a call that asks for one: its messages pass the engine that serves tasks and sessions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from purser.budget.errors import InvalidRequest
from purser.context.conversation.messages import Message
from purser.context.strategies import StrategyName
from purser.context.tokens import PER_CONVERSATION, count_request
from purser.context.windows import Window, build_window
from purser.context.windows.runs import joined

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
    read = [Message.parse({name: one[name] for name in _READ if name in one}, at) for at, one in enumerate(messages)]
    window = build_window(read, budget=budget, model=model, strategy=terms.strategy)
    shown = [
        message.to_openai() if index is None or index in window.changed else messages[index]
        for index, message in zip(window.indexes, window.messages, strict=True)
    ]
    in_part = sorted(each.index for each in (*window.stats.clipped, *window.stats.cleared))
    return Windowed(shown, _headers(window, in_part))


def _headers(window: Window, in_part: Sequence[int]) -> dict[str, str]:
    """Places of messages are those in the request, from 0."""
    runs = {
        "Purser-Window-Dropped": joined((index, index) for index, _ in window.dropped),
        "Purser-Window-Summarized": window.summarised,
        "Purser-Window-In-Part": joined((index, index) for index in in_part),
    }
    sizes = {"Purser-Window": str(window.strategy), "Purser-Window-Tokens": str(window.tokens)}
    sizes["Purser-Window-Left-Out"] = str(window.stats.messages_removed)
    return sizes | {name: _listed(places) for name, places in runs.items() if places}


def _listed(runs: Sequence[tuple[int, int]]) -> str:
    shown = [str(first) if first == last else f"{first}-{last}" for first, last in runs[:_MOST_RUNS]]
    return ", ".join([*shown, f"and {len(runs) - _MOST_RUNS} more"] if len(runs) > _MOST_RUNS else shown)
