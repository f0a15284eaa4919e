"""What a hold covers: text, images and functions of the client, at the standard price. The rest is refused by name.

It is refused everywhere, not only where money is limited: the ledger would record a cost that is too low.
"""

from collections.abc import Iterator, Mapping, Sequence
from mimetypes import guess_type
from typing import Any

from purser.budget.errors import InvalidRequest
from purser.gateway.proxy.verdicts import Unsupported

RUN_ELSEWHERE = (
    "send functions: other tools run at the provider, at a price that no hold covers, or are called with free text"
)
_OWN_PRICE = "it has a price of its own, which no hold covers"
NEVER = {
    "audio": f"{_OWN_PRICE}: leave it out",
    "function_call": "a reply to it cannot be counted while it arrives: send tool_choice",
    "functions": "a reply to them cannot be counted while it arrives: send tools",
    "prediction": f"{_OWN_PRICE}: leave it out",
    "web_search_options": f"{_OWN_PRICE}: leave it out",
}
"""Parameters of the chat API that are always refused, and the remedy. What a model does not take over of a `prediction`
is charged as output, beyond the most that the request allows."""
_TIERS = ("auto", "default", "standard", "standard_only", "on_demand", "flex")
"""Words of OpenAI, Anthropic and Groq for the standard price or less. `auto` is what they do without the parameter:
whether that is a dearer tier is a setting of the provider's account, which no request shows."""
_PARTS = (
    "text", "input_text", "output_text", "refusal", "thinking", "redacted_thinking", "reasoning", "tool_use",
    "tool_result",
)  # fmt: skip
"""Parts of messages whose whole content is in them."""
_INSIDE = ("text", "base64")
"""Sources of a document that contain it."""
_NO_IMAGE = ("application/pdf", "audio/", "text/", "video/")
"""Kinds of content that some providers take, and charge by their size, where an image is named."""
_SOURCES = ("image_url", "file", "source")
"""Fields of a part that contain or name its data; providers take audio in each of them."""


def check_covered(
    messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]], options: Mapping[str, Any]
) -> None:
    """Checks a request in the format of OpenAI's chat API.

    Args:
        messages, tools: of the request.
        options: its further parameters.

    Raises:
        InvalidRequest: a tool is malformed.
        Unsupported: it asks for something whose price no hold covers.
    """
    given = {name: value for name, value in options.items() if value is not None}
    if (tier := given.get("service_tier", "auto")) not in _TIERS:
        raise Unsupported(f"service_tier {str(tier)[:80]!r}", f"{_OWN_PRICE}: leave it out or use {', '.join(_TIERS)}")
    for name, remedy in NEVER.items():
        if name in given:
            raise Unsupported(name, remedy)
    if any(one != "text" for one in _listed(given.get("modalities", ()))):
        raise Unsupported("modalities other than text", f"{_OWN_PRICE}: leave it out")
    for tool in tools:
        _check_tool(tool)
    if any(map(_has_audio, messages)):
        raise Unsupported("audio in messages", f"{_OWN_PRICE}: send its text")
    parts = (part for message in messages for part in _parts(message.get("content")))
    if (other := next((part for part in parts if not _is_whole(part)), None)) is not None:
        raise Unsupported(
            f"a part of type {str(other.get('type'))[:80]!r} without its content",
            "no hold covers what cannot be counted: send text, images, or files with their data",
        )


def _check_tool(tool: Mapping[str, Any]) -> None:
    kind = tool.get("type")
    if kind != "function":
        raise Unsupported(f"tools type {str(kind)[:80]}", RUN_ELSEWHERE)
    # LiteLLM takes a tool without this object for one of Gemini's own, such as its search.
    if not isinstance(tool.get("function"), Mapping):
        raise InvalidRequest("tools.function is not valid: give an object")


def _has_audio(message: Mapping[str, Any]) -> bool:
    return message.get("audio") is not None or any(map(_is_audio, _parts(message.get("content"))))


def _parts(content: object) -> Iterator[Mapping[str, Any]]:
    """The parts of a message, with those inside results of tools."""
    for part in content if isinstance(content, list) else ():
        if isinstance(part, Mapping):
            yield part
            yield from _parts(part.get("content"))


def _is_audio(part: Mapping[str, Any]) -> bool:
    if "audio" in str(part.get("type")):
        return True
    sources = [part[name] for name in _SOURCES if name in part]
    texts = [text for source in sources for text in (source.values() if isinstance(source, Mapping) else (source,))]
    return any(isinstance(text, str) and text[:11].lower().startswith(("audio/", "data:audio/")) for text in texts)


def _is_whole(part: Mapping[str, Any]) -> bool:
    """Whether the content of a part can be counted: it is in the part, or it is an image."""
    match part:
        case {"type": "text"}:
            return isinstance(part.get("text"), str)
        case {"type": "image_url", "image_url": image}:
            return _is_image(image if isinstance(image, Mapping) else {"url": image})
        case {"type": "file", "file": {"file_data": str(data)} as file}:
            return "://" not in data and "file_id" not in file
        case {"type": "document", "source": {"type": kind}}:
            return kind in _INSIDE
    return part.get("type") in _PARTS


def _is_image(image: Mapping[str, Any]) -> bool:
    """Whether an address is that of an image, as far as it and the request say; data of other kinds are counted."""
    url = str(image.get("url"))
    if url[:5].lower() == "data:":
        return True
    kinds = [str(image[name]) for name in ("format", "mime_type", "content_type") if image.get(name)]
    kinds.append(guess_type(url.partition("?")[0])[0] or "")
    return url.startswith(("https://", "http://")) and not any(kind.lower().startswith(_NO_IMAGE) for kind in kinds)


def _listed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else (value,)
