"""Advice without side effects: how a conversation would be optimized, and whether planned tool calls fit."""

from collections.abc import Sequence
from dataclasses import dataclass

from purser.budget.gate import Pressure, pressure
from purser.context.conversation.messages import JsonObject, Message
from purser.context.errors import InvalidMessage, InvalidSettings, WindowTooSmall
from purser.context.strategies.choice import Preference, choose
from purser.context.tokens import count_request
from purser.context.windows import build_window
from purser.context.windows.listing import known_preference
from purser.wire.limits import USUAL_MODEL

REPLY_RESERVE = 2_000
"""Tokens of a limit reserved for the reply."""
TOOL_RESERVE = 500
"""Tokens reserved for one planned tool call and its result: 19 of 20 calls of an airline help desk took less than 450,
half the calls of a coding agent less than 200."""

AnyMessage = Message | JsonObject
"""A message, or its dictionary in the format of the OpenAI API."""


@dataclass(frozen=True, slots=True)
class Recommendation:
    """What `optimize` would do with a conversation."""

    tokens: int
    """Tokens of the conversation."""
    available_tokens: int
    """Tokens that it may take: the limit without the reserve for the reply."""
    usage_ratio: float
    """`tokens` divided by `available_tokens`, or by the whole limit if the reserve leaves nothing."""
    urgency: Pressure
    """Class of the ratio: low below 0.5, medium below 0.75, high below 0.9, else critical."""
    needs_optimization: bool
    """Whether the conversation exceeds `available_tokens`."""
    recommended_strategy: str
    """`none` if nothing needs to be done."""
    reason: str
    """Human-readable reason with figures, never text of the conversation."""


@dataclass(frozen=True, slots=True)
class ToolSafety:
    """Whether a conversation and the results of planned tool calls fit a limit."""

    safe: bool
    tokens: int
    """Tokens of the conversation."""
    reserved_tokens: int
    """Tokens reserved for the planned calls."""
    limit: int
    safe_once_optimized: bool
    """Whether all fits after the conversation is optimized with preference fast."""
    message: str
    """The result in words, with a remedy if it does not fit."""


def messages_of(messages: Sequence[AnyMessage]) -> list[Message]:
    """Parses messages of either form.

    Raises:
        InvalidMessage: this is no list, or a message is malformed; the error names the index and the field.
    """
    given: object = messages  # whatever the caller passed
    if not isinstance(given, Sequence) or isinstance(given, str | bytes):
        raise InvalidMessage(f"messages: {type(given).__name__} is not valid, use a list of messages")
    return [one if isinstance(one, Message) else Message.parse(one, place) for place, one in enumerate(messages)]


def available(max_tokens: int, reserve: int = REPLY_RESERVE) -> int:
    """Tokens of a limit that messages may take next to the reply; 0 if the reserve leaves nothing.

    Raises:
        InvalidSettings: the limit is no positive whole number.
    """
    return max(0, whole_number("max_tokens", max_tokens, least=1) - reserve)


def whole_number(name: str, value: object, *, least: int) -> int:
    """The value, if it is a whole number and not too small.

    Raises:
        InvalidSettings: it is not; the error names the setting.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise InvalidSettings(f"{name} {value!r:.80} is not valid: use a whole number, {least} or more")
    return value


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
    """Reports what `optimize` would do with a conversation; it changes nothing and does not count as a summary.

    Args:
        messages: the conversation.
        max_tokens: the limit.
        preference: preference of the caller.
        summaries: how often this conversation was already summarized.
        can_summarize: whether a summarizer is available.
        reserve: tokens of the limit reserved for the reply.
        model: the model whose tokenizer counts.

    Raises:
        InvalidMessage, InvalidSettings: a message, the limit or the preference is not valid.
    """
    read, room, preference = messages_of(messages), available(max_tokens, reserve), known_preference(preference)
    tokens = _tokens(read, model)
    ratio, needed = tokens / (room or max_tokens), bool(read) and tokens > room
    strategy, reason = "none", f"{tokens:,} of {room:,} tokens: fits"
    if needed:
        choice = choose(
            messages=len(read),
            characters=sum(len(message.text) for message in read),
            preference=preference,
            summaries=summaries,
            can_summarize=can_summarize,
            tool_messages=sum(message.role == "tool" or bool(message.tool_calls) for message in read),
        )
        strategy, reason = choice.strategy, f"{tokens:,} of {room:,} tokens: {choice.reason}"
    return Recommendation(tokens, room, ratio, pressure(ratio), needed, strategy, reason)


def tool_safety(
    messages: Sequence[AnyMessage], limit: int, planned_tools: int, *, model: str = USUAL_MODEL
) -> ToolSafety:
    """Checks whether a conversation fits a limit after a number of tool calls, each with a reserve for its result.

    Args:
        messages: the conversation.
        limit: upper bound of conversation and results together.
        planned_tools: number of planned calls.
        model: the model whose tokenizer counts.
    """
    read, reserved = messages_of(messages), whole_number("planned_tools", planned_tools, least=0) * TOOL_RESERVE
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
    """Whether a number of tools may be called with room left for a reply, and a message why.

    Like `tool_safety` with the reserve for the reply subtracted from the limit, unless that leaves nothing.
    """
    found = tool_safety(messages, available(max_tokens) or max_tokens, tools_count, model=model)
    return found.safe, found.message


def _optimized(messages: Sequence[Message], budget: int, model: str) -> int | None:
    """Tokens of the conversation after optimization with preference fast; `None` if it cannot fit."""
    try:
        return build_window(messages, budget=budget, model=model, preset="optimizer", preference=Preference.FAST).tokens
    except WindowTooSmall:
        return None


def _tokens(messages: Sequence[Message], model: str) -> int:
    return count_request([message.to_openai() for message in messages], [], model).tokens
