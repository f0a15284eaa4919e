"""Tokens of a request before any provider has counted them."""

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from purser_client.operations.arguments import listing, too_deep
from purser_client.wire.image_rules import ImageRule, image_rule_of
from purser_client.wire.images import Image, image_part

Count = Callable[[str], int]
"""Tokens of a text."""

_PER_MESSAGE = 4
_PER_CONVERSATION = 3
_JSON = frozenset(("args", "arguments", "json", "response", "structuredContent", "toolUse"))
"""Fields whose JSON models read as text, also where it looks like an image: arguments and results of tools. So is the
`input` of a tool call, but not that of a request."""


def cautious(text: str) -> int:
    """Tokens of a text without its tokenizer: one for two bytes of UTF-8.

    Prose in any language and code have fewer; only random text, such as base64 and long ids, may have a third more.
    """
    return -(-len(text.encode("utf-8", "replace")) // 2)


def input_tokens(messages: Sequence[Any] | str, tools: Sequence[Any], count: Count, model: str | None = None) -> int:
    """Tokens of messages, texts or blocks of any provider, and of the tools offered with them.

    Args:
        messages: Images in them count by the rule of `model`, everything else as text.
        model: `None` counts images cautiously.

    Raises:
        InvalidRequest: messages or tools are no lists, or nested without end.
    """
    said = [messages] if isinstance(messages, str) else listing("messages", messages)
    rule = image_rule_of(model)
    return (
        sum(_message(message, count, rule) + _PER_MESSAGE for message in said)
        + sum(count(_text(tool)) for tool in listing("tools", tools))
        + _PER_CONVERSATION
    )


def _message(message: Any, count: Count, rule: ImageRule) -> int:
    images: list[Image] = []
    try:
        rest = _without_images(message, images)
    except (TypeError, ValueError, RecursionError):  # an object that its library cannot write as JSON, or a cycle
        return count(_text(message))
    return count(_text(rest)) + sum(map(rule.tokens, images))


def _without_images(value: Any, images: list[Image]) -> Any:
    """A message, or something in it, without its images, which are added to `images`."""
    if hasattr(value, "model_dump"):
        value = value.model_dump(mode="json")
    if isinstance(value, list | tuple):
        return [_without_images(each, images) for each in value]
    if not isinstance(value, Mapping):
        return value
    if (found := image_part(value)) is not None:
        images.append(found.image)
        return found.rest
    return {
        name: each
        if name in _JSON or (name == "input" and isinstance(each, Mapping))
        else _without_images(each, images)
        for name, each in value.items()
    }


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
    except RecursionError:
        raise too_deep() from None


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value.model_dump(mode="json") if hasattr(value, "model_dump") else str(value)
