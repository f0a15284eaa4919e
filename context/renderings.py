"""Two forms of one history: plain text for routers, with a budget of its own, and messages for agents."""

from collections.abc import Sequence

from context.messages import Message, group
from context.tokens import count_text

ROUTER_BUDGET = 8_000
"""Tokens of a plain-text history; `PURSER_ROUTER_HISTORY_TOKEN_BUDGET` in the product."""
ACKNOWLEDGEMENT = "Understood. I will take this earlier conversation into account."
"""What the assistant says to a summary, so that roles alternate."""


def render_text(
    messages: Sequence[Message],
    *,
    summary: str = "",
    summarised: int = 0,
    most_tokens: int = ROUTER_BUDGET,
    most_turns: int | None = None,
    model: str,
) -> str:
    """History as text: the summary, then the newest whole turns that fit beside it, up to the first that does not.

    A line is `USER: text`, `ASSISTANT: [tool] text`; a call and its results are one turn.

    Args:
        messages: history in order, without the message that travels on its own.
        summary: of what came before; its tokens are reserved first. Left out where it alone does not fit.
        summarised: how many messages it stands for.
        most_tokens: of the whole text.
        most_turns: of the history, if that is bounded too.
        model: whose tokens are counted.
    """
    header = f"[Earlier conversation summary ({summarised} turns)]:\n{summary}" if summary else ""
    left = most_tokens - _tokens(header, model)
    if left < 0:
        header, left = "", most_tokens
    lines: list[str] = []
    turns = ["\n".join(map(_line, messages[span.start : span.stop])) for span in group(messages)]
    for turn in reversed(turns[-most_turns:] if most_turns else turns):
        left -= _tokens(turn, model)
        if left < 0:
            break
        lines.append(turn)
    return "\n".join([*([header] if header else []), *reversed(lines)])


def render_structured(messages: Sequence[Message], *, summary: str = "", summarised: int = 0) -> list[Message]:
    """History as messages: the summary as a pair of user and assistant, so that roles alternate, then the messages.

    Args:
        messages: history in order.
        summary: of what came before.
        summarised: how many messages it stands for.
    """
    if not summary:
        return list(messages)
    told = Message("user", f"[Context: Summary of earlier conversation ({summarised} turns)]:\n{summary}")
    return [told, Message("assistant", ACKNOWLEDGEMENT), *messages]


def _line(message: Message) -> str:
    actions = "".join(f"[{call['function']['name']}] " for call in message.tool_calls)
    return f"{message.role.upper()}: {actions}{message.text}".rstrip()


def _tokens(text: str, model: str) -> int:
    # Counted with the line break that follows: no token reaches over it, so the parts add up to the whole.
    return count_text(f"{text}\n", model).tokens if text else 0
