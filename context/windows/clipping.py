"""Clipping of a message that exceeds a whole window: its head and tail remain, with a mark in between.

Clipping affects windows only; stored text is never clipped.
"""

from bisect import bisect_right
from dataclasses import replace

from purser.context.compression.graphemes import grapheme_ends
from purser.context.compression.requests import CountText
from purser.context.conversation.messages import Message

_HEAD = 0.7
"""Share of the remaining text that is taken from the beginning."""
_GRAPHEMES_PER_TOKEN = 20
"""More graphemes per token than texts have on average; bounds the text that is examined."""


def clip(text: str, most_tokens: int, count: CountText, of: str = "") -> str:
    """Returns the beginning and the end of a text, cut between graphemes, with a mark that states the tokens left out.

    Args:
        text: a text of more than `most_tokens`.
        most_tokens: upper bound of the result, including the mark.
        count: counts the tokens of a text.
        of: what the mark says the tokens belong to, such as " of message 7".

    Returns:
        The clipped text; empty if little more than the mark would fit.
    """
    whole, ends = count(text), [0, *grapheme_ends(text)]
    low, high, best = 1, min(len(ends) - 2, _GRAPHEMES_PER_TOKEN * most_tokens), ""
    while low <= high:
        stays = (low + high) // 2
        head, tail = ends[int(stays * _HEAD)], ends[int(stays * _HEAD) - stays - 1]
        left_out = max(1, whole - count(text[:head]) - count(text[tail:]))
        tried = f"{text[:head]}\n[… {left_out} tokens left out{of} …] {text[tail:]}"
        if count(tried) <= most_tokens:
            best, low = tried, stays + 1
        else:
            high = stays - 1
    return best


def beginning(text: str, most_tokens: int, count: CountText) -> str:
    """Returns as much of the beginning of a text as fits, cut between graphemes, with a mark if more follows.

    Args:
        text: the text to cut.
        most_tokens: upper bound of the result, including the mark.
        count: counts the tokens of a text.

    Returns:
        The beginning; empty if not even the mark would fit.
    """
    ends = grapheme_ends(text, _GRAPHEMES_PER_TOKEN * most_tokens)

    def cut(end: int) -> str:
        return text[:end] + ("…" if end < len(text) else "")

    fits = bisect_right(ends, most_tokens, key=lambda end: count(cut(end)))
    return cut(ends[fits - 1]) if fits else ""


def clip_message(message: Message, tokens: int, most_tokens: int, count: CountText, of: str) -> Message | None:
    """Clips the longest text of a message; other parts, such as images and tool calls, stay whole.

    Args:
        message: the message to clip.
        tokens: tokens of the message.
        most_tokens: upper bound of the result.
        count: counts the tokens of a text.
        of: see `clip`.

    Returns:
        The clipped message, or `None` if clipping its longest text cannot make it fit.
    """
    parts = list(message.content) if isinstance(message.content, tuple) else [{"type": "text", "text": message.text}]
    texts = [(len(part["text"]), place) for place, part in enumerate(parts) if part["type"] == "text"]
    if not texts:
        return None
    _, place = max(texts)
    longest = parts[place]["text"]
    if not (text := clip(longest, most_tokens - (tokens - count(longest)), count, of)):
        return None
    parts[place] = {**parts[place], "text": text}
    return replace(message, content=tuple(parts) if isinstance(message.content, tuple) else text)
