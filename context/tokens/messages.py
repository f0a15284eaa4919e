"""Countable parts of a message: texts and images, from OpenAI chat messages and Anthropic content blocks.

The fixed tokens per message account for role, ids and name of the speaker. What no rule here knows of a part or a call
counts as its JSON: a provider may read, and charge, every field that it receives.
"""

import json
from collections.abc import Iterator, Mapping, Sequence

from purser.context.errors import InvalidMessage
from purser.wire.images import Image, image_part

Part = str | Image
"""A text, counted by a tokenizer, or an image, counted by an image rule."""

_REASONING = ("thinking_blocks", "reasoning_content", "reasoning")
"""Fields in which providers return the reasoning of a model; several of them have the same content."""
_COUNTED = ("content", "tool_calls", "function_call", "refusal", *_REASONING)
_BESIDE_CONTENT = frozenset(_COUNTED[1:])
_SHORT = (
    "role", "type", "id", "index", "tool_call_id", "tool_use_id", "file_id", "detail", "media_type",
    "signature", "summary", "annotations", "audio", "cache_control",
)  # fmt: skip
"""Fields that are not counted as long as they are short."""
_MOST_SHORT = 64
"""Most characters of such a field."""


def parts_of(message: Mapping[str, object]) -> tuple[Part, ...]:
    """Returns the countable parts of a message; raises `InvalidMessage`.

    They are its content, its reasoning, the name of each tool call followed by its arguments, and its refusal.
    """
    if not isinstance(message, Mapping):
        raise InvalidMessage(f"message is a {type(message).__name__}: it must be a mapping with role and content")
    content = message.get("content")
    if isinstance(content, str) and _BESIDE_CONTENT.isdisjoint(message):
        return (content,)  # the common case
    calls = message.get("tool_calls") or ()
    if not isinstance(calls, list | tuple):
        raise InvalidMessage(f"message field 'tool_calls' is a {type(calls).__name__}: it must be a list")
    if legacy := message.get("function_call"):
        calls = [*calls, {"function": legacy}]
    return (
        *_content(content),
        *_reasoning(message),
        *(part for call in calls for part in _tool_call(call)),
        *_content(message.get("refusal"), "refusal"),
    )


def further_fields(message: Mapping[str, object]) -> Iterator[str]:
    """Yields the JSON of the name of the speaker and of fields that no chat message has.

    In stored conversations they are notes of their owner; in a request a provider may read them.
    """
    yield from _rest(message, *_COUNTED)


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


def _reasoning(message: Mapping[str, object]) -> Sequence[Part]:
    """The reasoning of a message; what several fields repeat counts once."""
    found: list[Part] = []
    for field in _REASONING:
        if thoughts := message.get(field):
            known = set(found)
            found += [part for part in _content(thoughts, "reasoning") if part not in known]
    return found


def _rest(given: Mapping[str, object], *counted: str) -> Iterator[str]:
    """Yields the JSON of the fields that are not counted otherwise."""
    rest = {
        name: value for name, value in given.items() if name not in counted and not (name in _SHORT and is_short(value))
    }
    if rest:
        yield as_json(rest)


def is_short(value: object) -> bool:
    """Whether a value is a setting or an id rather than a text."""
    return not value or len(value if isinstance(value, str) else as_json(value)) <= _MOST_SHORT


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
            yield from _rest(block, "text")
        case {"type": "thinking" | "refusal" as kind} if isinstance(block.get(kind), str):
            yield from _content(block[kind])
            yield from _rest(block, kind)
        case _ if (found := image_part(block)) is not None:
            yield found.image
            for rest in found.rest:
                yield from (rest,) if isinstance(rest, str) else _rest(rest)
        case {"type": "tool_use", "name": str(name), "input": arguments}:
            yield name + as_json(arguments)
            yield from _rest(block, "name", "input")
        case {"type": "tool_result", "content": content}:
            yield from _content(content)
            yield from _rest(block, "content")
        case {"type": "reasoning", "content": [_, *_] as thoughts}:
            yield from _content(thoughts, "reasoning")
            yield from _rest(block, "content")
        case {"type": "reasoning", "summary": thoughts}:
            yield from _content(thoughts, "reasoning")
            yield from _rest(block, "summary")
        case {"type": "reasoning", "text": str(text)}:
            yield text
            yield from _rest(block, "text")
        case _:
            yield as_json(block)


def _tool_call(call: object) -> Iterator[Part]:
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(call, Mapping) or not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        raise InvalidMessage("a tool call lacks its function and the function's name")
    arguments = function.get("arguments") or ""
    yield function["name"] + (arguments if isinstance(arguments, str) else as_json(arguments))
    yield from _rest(function, "name", "arguments")
    yield from _rest(call, "function")
