"""Dialogues for `context.optimize`."""

from typing import Any

from purser.context.tokens import count_request

MODEL = "gpt-4o"
Messages = list[dict[str, Any]]


def dialogue(count: int, words: int = 40) -> Messages:
    """A system message and so many others, alternating, less one."""
    said = [
        {"role": "assistant" if place % 2 else "user", "content": f"message {place}: " + "word " * words}
        for place in range(count - 1)
    ]
    return [{"role": "system", "content": "You are helpful."}, *said]


def short(text: str) -> str:
    return "They talked about words."


def tokens(messages: Messages) -> int:
    return count_request(messages, [], MODEL).tokens
