"""Tokens of a request before any provider has counted them."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from purser_client.operations.arguments import listing

Count = Callable[[str], int]
"""Tokens of a text."""

_PER_MESSAGE = 4
_PER_CONVERSATION = 3


def cautious(text: str) -> int:
    """Tokens of a text without its tokenizer: one for two bytes of UTF-8.

    Prose in any language and code have fewer; only random text, such as base64 and long ids, may have a third more.
    """
    return -(-len(text.encode("utf-8", "replace")) // 2)


def input_tokens(messages: Sequence[Any] | str, tools: Sequence[Any], count: Count) -> int:
    """Tokens of messages, texts or blocks of any provider, and of the tools offered with them."""
    said = [messages] if isinstance(messages, str) else listing("messages", messages)
    return (
        sum(count(_text(message)) + _PER_MESSAGE for message in said)
        + sum(count(_text(tool)) for tool in listing("tools", tools))
        + _PER_CONVERSATION
    )


def _text(value: Any) -> str:
    match value:
        case str():
            return value
        case {"role": _, "content": str(content), **more} if not more:
            return content
    try:
        return json.dumps(value, ensure_ascii=False, default=_plain)
    except (TypeError, ValueError):  # a key, such as a date, or a cycle that JSON does not have
        return str(value)


def _plain(value: Any) -> Any:
    return value.model_dump(mode="json") if hasattr(value, "model_dump") else str(value)
