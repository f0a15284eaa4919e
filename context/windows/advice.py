"""What would be done about a conversation, and whether planned tool calls still fit: figures, without side effects."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from purser.budget.decisions import Pressure, pressure
from purser.context.conversation.messages import JsonObject, Message
from purser.context.errors import InvalidSettings, WindowTooSmall
from purser.context.strategies.choice import Preference, choose
from purser.context.tokens import count_request
from purser.context.windows import build_window

REPLY_RESERVE = 2_000
"""Tokens of a limit that are kept for the reply."""
TOOL_RESERVE = 500
"""Tokens kept for one planned tool call and its result: 19 of 20 calls of an airline help desk took less than 450,
half the calls of a coding agent less than 200."""
USUAL_MODEL = "gpt-4o"
"""Whose tokens are counted where no model is named."""

AnyMessage = Message | JsonObject
"""A message, or the same as OpenAI's API takes it."""


@dataclass(frozen=True, slots=True)
class Recommendation:
    """What optimizing would do."""

    tokens: int
    """Of the conversation."""
    available_tokens: int
    """What it may take: the limit without the reserve for the reply."""
    usage_ratio: float
    """The one as a share of the other; of the whole limit where the reserve leaves nothing."""
    urgency: Pressure
    """The ratio in words: low below 0.5, medium below 0.75, high below 0.9, else critical."""
    needs_optimization: bool
    """Whether it exceeds what it may take."""
    recommended_strategy: str
    """`none` where nothing needs to be done."""
    reason: str
    """For people; has figures, never text of the conversation."""


@dataclass(frozen=True, slots=True)
class ToolSafety:
    """Whether a conversation and the results of planned tool calls fit a limit."""

    safe: bool
    tokens: int
    """Of the conversation."""
    reserved_tokens: int
    """For the planned calls."""
    limit: int
    safe_once_optimized: bool
    """Whether all fits after the conversation is optimized with preference fast."""
    message: str
    """The same in words, with what to do if it does not fit."""


def messages_of(messages: Iterable[AnyMessage]) -> list[Message]:
    """Reads messages of either form.

    Raises:
        InvalidMessage: names the index and the field.
    """
    return [one if isinstance(one, Message) else Message.parse(one, place) for place, one in enumerate(messages)]


def available(max_tokens: int, reserve: int = REPLY_RESERVE) -> int:
    """What messages may take of a limit before they are optimized: what the reply leaves, 0 if that is nothing.

    Raises:
        InvalidSettings: the limit is no positive number.
    """
    if max_tokens < 1:
        raise InvalidSettings(f"max_tokens {max_tokens!r} is not valid: use 1 or more")
    return max(0, max_tokens - reserve)


def recommend(
    messages: Sequence[AnyMessage],
    max_tokens: int,
    *,
    preference: Preference | str = Preference.BALANCED,
    summaries: int = 0,
    can_summarize: bool = True,
    reserve: int = REPLY_RESERVE,
    model: str = USUAL_MODEL,
) -> Recommendation:
    """What `optimize` would do with a conversation; changes nothing and counts as no summary.

    Args:
        messages: the conversation.
        max_tokens: the limit.
        preference: of the caller.
        summaries: how often this conversation was summarised before.
        can_summarize: whether there is something that writes summaries.
        reserve: tokens of the limit that are kept for the reply.
        model: whose tokens are counted.
    """
    read, room = messages_of(messages), available(max_tokens, reserve)
    tokens = _tokens(read, model)
    ratio, needed = tokens / (room or max_tokens), bool(read) and tokens > room
    strategy, reason = "none", f"{tokens:,} of {room:,} tokens: fits"
    if needed:
        choice = choose(
            messages=len(read),
            characters=sum(len(message.text) for message in read),
            preference=Preference(preference),
            summaries=summaries,
            can_summarize=can_summarize,
            tool_messages=sum(message.role == "tool" or bool(message.tool_calls) for message in read),
        )
        strategy, reason = choice.strategy, f"{tokens:,} of {room:,} tokens: {choice.reason}"
    return Recommendation(tokens, room, ratio, pressure(ratio), needed, strategy, reason)


def tool_safety(
    messages: Sequence[AnyMessage], limit: int, planned_tools: int, *, model: str = USUAL_MODEL
) -> ToolSafety:
    """Whether a conversation still fits a limit after so many tool calls, each with a reserve for its result.

    Args:
        messages: the conversation.
        limit: tokens of conversation and results together.
        planned_tools: calls.
        model: whose tokens are counted.
    """
    read, reserved = messages_of(messages), planned_tools * TOOL_RESERVE
    tokens = _tokens(read, model)
    figures = f"{tokens:,} tokens and {reserved:,} for {planned_tools} tool calls, limit {limit:,}"
    if tokens + reserved <= limit:
        return ToolSafety(True, tokens, reserved, limit, True, f"safe: {figures}")
    least = _optimized(read, limit - reserved, model)
    remedy = "shorten what must stay, or plan fewer calls"
    if least is not None:
        remedy = f"optimize first with preference fast, which leaves {least:,} tokens"
    message = f"unsafe: {figures}: {tokens + reserved - limit:,} too many, {remedy}"
    return ToolSafety(False, tokens, reserved, limit, least is not None, message)


def check_tool_safety(
    messages: Sequence[AnyMessage], max_tokens: int, tools_count: int, *, model: str = USUAL_MODEL
) -> tuple[bool, str]:
    """Whether so many tools may be called and a reply still fits, and why.

    Like `tool_safety`, with the reserve for the reply taken off; not where that would leave nothing.
    """
    found = tool_safety(messages, available(max_tokens) or max_tokens, tools_count, model=model)
    return found.safe, found.message


def _optimized(messages: Sequence[Message], budget: int, model: str) -> int | None:
    """Tokens that are left of a conversation optimized with preference fast; `None` if it cannot be made to fit."""
    try:
        return build_window(messages, budget=budget, model=model, preset="optimizer", preference=Preference.FAST).tokens
    except WindowTooSmall:
        return None


def _tokens(messages: Sequence[Message], model: str) -> int:
    return count_request([message.to_openai() for message in messages], [], model).tokens
