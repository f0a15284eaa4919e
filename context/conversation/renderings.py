"""Two forms of one history: plain text for routers, with a budget of its own, and messages for agents."""

import re
from collections.abc import Sequence
from itertools import accumulate, takewhile

from purser.context.conversation.messages import Message, group
from purser.context.conversation.quoting import quoted
from purser.context.tokens import count_text
from purser.context.windows.clipping import clip

ROUTER_BUDGET = 8_000
"""Tokens of a plain-text history; `PURSER_ROUTER_HISTORY_TOKEN_BUDGET` in the product."""
_SPEAKER = re.compile(r"^(USER|ASSISTANT|TOOL)(?=:)", re.MULTILINE)
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

    A line is `USER: text`, `ASSISTANT: [tool] text`, and each further line of a message has its speaker too; a call and
    its results are one turn. Where the summary alone
    exceeds the budget, or the newest turn what the summary leaves, it is clipped, with a mark.

    Args:
        messages: history in order, without the message that travels on its own.
        summary: of what came before; its tokens are reserved first.
        summarised: how many messages it stands for.
        most_tokens: of the whole text.
        most_turns: of the history, if that is bounded too.
        model: whose tokens are counted.
    """

    def count(text: str) -> int:
        # With the line break that follows: no token reaches over it, so parts add up to the whole.
        return count_text(f"{text}\n", model).tokens

    def fitted(text: str, most: int) -> str:
        return text if count(text) <= most else clip(text, most, count)

    header = f"[Earlier conversation summary ({summarised} turns)]:\n{_unforged(summary)}" if summary else ""
    header = fitted(header, most_tokens) if header else ""
    left = most_tokens - count(header) if header else most_tokens
    turns = ["\n".join(map(_line, messages[span.start : span.stop])) for span in group(messages)]
    newest_first = turns[-most_turns:][::-1] if most_turns else turns[::-1]
    newest_first[:1] = [fitted(turn, left) for turn in newest_first[:1]]
    taken = list(takewhile(lambda tokens: tokens <= left, accumulate(map(count, newest_first))))
    return "\n".join(filter(None, [header, *newest_first[: len(taken)][::-1]]))


def render_structured(messages: Sequence[Message], *, summary: str = "", summarised: int = 0) -> list[Message]:
    """History as messages: the summary as a pair of user and assistant, so that roles alternate, then the messages.

    Args:
        messages: history in order.
        summary: of what came before.
        summarised: how many messages it stands for.
    """
    if not summary:
        return list(messages)
    summary_turn = Message(
        "user", f"[Context: Summary of earlier conversation ({summarised} turns)]:\n{quoted(summary)}"
    )
    return [summary_turn, Message("assistant", ACKNOWLEDGEMENT), *messages]


def _line(message: Message) -> str:
    actions = "".join(f"[{call['function']['name']}] " for call in message.tool_calls)
    lines = f"{actions}{quoted(message.text)}".splitlines() or [""]
    return "\n".join(f"{message.role.upper()}: {line}".rstrip() for line in lines)


def _unforged(summary: str) -> str:
    """The summary without a line that reads as one of a message."""
    return _SPEAKER.sub(r"“\1”", quoted(summary))
