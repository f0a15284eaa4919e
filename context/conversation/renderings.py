"""Renderings of a history: plain text within a token budget for routers, and messages for agents."""

import re
from collections.abc import Sequence
from itertools import accumulate, takewhile

from purser.context.conversation.messages import Message, group
from purser.context.conversation.quoting import quoted
from purser.context.tokens import count_text
from purser.context.windows.clipping import clip

ROUTER_BUDGET = 8_000
"""Default token budget of a plain-text history; the setting is `PURSER_ROUTER_HISTORY_TOKEN_BUDGET`."""
_SPEAKER = re.compile(r"^(USER|ASSISTANT|TOOL)(?=:)", re.MULTILINE)
ACKNOWLEDGEMENT = "Understood. I will take this earlier conversation into account."
"""The assistant's reply to a summary, so that roles alternate."""


def render_text(
    messages: Sequence[Message],
    *,
    summary: str = "",
    summarised: int = 0,
    most_tokens: int = ROUTER_BUDGET,
    most_turns: int | None = None,
    model: str,
) -> str:
    """Renders history as text: the summary, then the newest whole turns up to the first that does not fit.

    Lines have the form `USER: text` or `ASSISTANT: [tool] text`; every line of a message carries its speaker. A call
    and its results are one turn. A summary that exceeds the budget, or a newest turn that exceeds the rest, is clipped
    with a mark.

    Args:
        messages: history in order, without the message that is sent separately.
        summary: summary of what came before; its tokens are reserved first.
        summarised: number of messages that the summary covers.
        most_tokens: upper bound of the whole text.
        most_turns: maximum number of turns; `None` for no limit.
        model: the model whose tokenizer counts.
    """

    def count(text: str) -> int:
        # The line break is counted too: no token spans it, so the parts add up to the whole.
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
    """Renders history as messages, preceded by the summary as a user and assistant pair so that roles alternate.

    Args:
        messages: history in order.
        summary: summary of what came before.
        summarised: number of messages that the summary covers.
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
    """Quotes speaker labels in the summary, so that no line reads as a message."""
    return _SPEAKER.sub(r"“\1”", quoted(summary))
