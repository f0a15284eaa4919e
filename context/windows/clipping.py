"""Clipping one message that is larger than a whole window: its head and its tail, and a mark in between.

Only windows are clipped; stored text never is.
"""

from bisect import bisect_right
from dataclasses import replace
from itertools import islice

import regex

from purser.context.compression.requests import CountText
from purser.context.conversation.messages import Message

_HEAD = 0.7
"""Share of what stays that is taken from the beginning."""
_GRAPHEME = regex.compile(r"\X")
_GRAPHEMES_PER_TOKEN = 20
"""More than a text has on average: what need not be looked at."""


def clip(text: str, most_tokens: int, count: CountText) -> str:
    """The beginning and the end of a text, cut between graphemes, with a mark that tells what is left out.

    Args:
        text: with more than `most_tokens`.
        most_tokens: of the result, mark included.
        count: tokens of a text.

    Returns:
        Empty where hardly more than the mark would fit.
    """
    whole, ends = count(text), [0, *(match.end() for match in _GRAPHEME.finditer(text))]
    low, high, best = 1, len(ends) - 2, ""
    while low <= high:
        stays = (low + high) // 2
        head, tail = ends[int(stays * _HEAD)], ends[int(stays * _HEAD) - stays - 1]
        left_out = max(1, whole - count(text[:head]) - count(text[tail:]))
        tried = f"{text[:head]}\n[… {left_out} tokens left out …] {text[tail:]}"
        if count(tried) <= most_tokens:
            best, low = tried, stays + 1
        else:
            high = stays - 1
    return best


def beginning(text: str, most_tokens: int, count: CountText) -> str:
    """As much of a text as fits, cut between graphemes, with a mark where more follows.

    Args:
        text: to cut.
        most_tokens: of the result, mark included.
        count: tokens of a text.

    Returns:
        Empty where not even the mark would fit.
    """
    graphemes = islice(_GRAPHEME.finditer(text), _GRAPHEMES_PER_TOKEN * most_tokens)
    ends = [match.end() for match in graphemes]

    def cut(end: int) -> str:
        return text[:end] + ("…" if end < len(text) else "")

    fits = bisect_right(ends, most_tokens, key=lambda end: count(cut(end)))
    return cut(ends[fits - 1]) if fits else ""


def clip_message(message: Message, tokens: int, most_tokens: int, count: CountText) -> Message | None:
    """The message with its longest text clipped; what is no text, such as images and tool calls, stays whole.

    Args:
        message: to clip.
        tokens: that it takes.
        most_tokens: that it may take.
        count: tokens of a text.

    Returns:
        `None` where clipping its longest text cannot make it fit.
    """
    parts = list(message.content) if isinstance(message.content, tuple) else [{"type": "text", "text": message.text}]
    texts = [(len(part["text"]), place) for place, part in enumerate(parts) if part["type"] == "text"]
    if not texts:
        return None
    _, place = max(texts)
    longest = parts[place]["text"]
    if not (text := clip(longest, most_tokens - (tokens - count(longest)), count)):
        return None
    parts[place] = {**parts[place], "text": text}
    return replace(message, content=tuple(parts) if isinstance(message.content, tuple) else text)
