"""Countable parts of a message: texts and images, from OpenAI chat messages and Anthropic content blocks.

Role, ids and name of the speaker are not counted separately: the fixed tokens per message account for them.
"""

import json
from collections.abc import Iterator, Mapping

from purser.context.errors import InvalidMessage
from purser.context.tokens.images import Image, size_of

Part = str | Image
"""A text, counted by a tokenizer, or an image, counted by an image rule."""

_REASONING = ("thinking_blocks", "reasoning_content", "reasoning")
"""Fields in which providers return the reasoning of a model; several of them have the same content."""


def parts_of(message: Mapping[str, object]) -> tuple[Part, ...]:
    """Returns the countable parts of a message, in order; raises `InvalidMessage`.

    They are its content, its reasoning, and the name of each tool call followed by its arguments.
    """
    if not isinstance(message, Mapping):
        raise InvalidMessage(f"message is a {type(message).__name__}: it must be a mapping with role and content")
    calls = message.get("tool_calls") or ()
    if not isinstance(calls, list | tuple):
        raise InvalidMessage(f"message field 'tool_calls' is a {type(calls).__name__}: it must be a list")
    if legacy := message.get("function_call"):
        calls = [*calls, {"function": legacy}]
    thoughts = next((message[field] for field in _REASONING if message.get(field)), None)
    return (*_content(message.get("content")), *_content(thoughts, "reasoning"), *map(_tool_call, calls))


def as_json(value: object) -> str:
    """Compact JSON with sorted keys, in which structured parts and tool definitions are counted."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    except (TypeError, ValueError) as error:
        raise InvalidMessage(f"a part of the request is not JSON: {error}") from None


def _content(content: object, field: str = "content") -> Iterator[Part]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, list | tuple):
        for block in content:
            yield from _block(block)
    elif content is not None:
        raise InvalidMessage(
            f"message field {field!r} is a {type(content).__name__}: it must be text or a list of parts"
        )


def _block(block: object) -> Iterator[Part]:
    """Yields the countable parts of one element of a content list.

    An unknown kind, such as a file or audio, counts as its JSON: too much if it contains data, too little if it only
    references them.
    """
    if isinstance(block, str):
        yield block
        return
    if not isinstance(block, Mapping):
        raise InvalidMessage(f"a part of 'content' is a {type(block).__name__}: it must be text or a mapping with type")
    match block:
        case {"type": "text" | "input_text" | "output_text" | "summary_text" | "reasoning_text", "text": str(text)}:
            yield text
        case {"type": "thinking", "thinking": str(text)} | {"type": "refusal", "refusal": str(text)}:
            yield text
        case {"type": "image_url", "image_url": {"url": str(url), **rest}}:
            yield _image(url, rest.get("detail"))
        case {"type": "image_url" | "input_image", "image_url": str(url), **rest}:
            yield _image(url, rest.get("detail"))
        case {"type": "image", "source": {"type": "base64", "data": str(data)}}:
            yield Image(size_of(data), low_detail=False)
        case {"type": "image" | "input_image"}:
            yield Image(None, low_detail=False)
        case {"type": "tool_use", "name": str(name), "input": arguments}:
            yield name + as_json(arguments)
        case {"type": "tool_result", "content": content}:
            yield from _content(content)
        case {"type": "reasoning", "content": [_, *_] as thoughts} | {"type": "reasoning", "summary": thoughts}:
            yield from _content(thoughts, "reasoning")
        case {"type": "reasoning", "text": str(text)}:
            yield text
        case _:
            yield as_json(block)


def _image(url: str, detail: object) -> Image:
    header, comma, data = url.partition(",")
    inline = comma and header.startswith("data:") and header.endswith(";base64")
    return Image(size_of(data) if inline else None, low_detail=detail == "low")


def _tool_call(call: object) -> str:
    match call:
        case {"function": {"name": str(name), **rest}}:
            arguments = rest.get("arguments") or ""
            return name + (arguments if isinstance(arguments, str) else as_json(arguments))
        case _:
            raise InvalidMessage("a tool call lacks its function and the function's name")
