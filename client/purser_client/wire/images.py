"""Images in the parts of messages of any provider, and their sizes. Standard library only.

An image behind an address is never fetched.
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

Size = tuple[int, int]
"""Width and height in pixels."""
Fields = Mapping[Any, Any]
"""A part of a message, or an object in one."""

_MOST_ADDRESS = 2_048
"""Most characters of the address of an image: it is not read as text, but what is longer may be no address."""
_TYPES = ("image_url", "input_image", "computer_screenshot", "image_generation_call", "image", "media")
_FIELDS = frozenset(("image", "inline_data", "inlineData", "file_data", "fileData"))
"""Types and fields without which a part is no image: most parts have none, and need no further look."""
_MOST_SEGMENTS = 1_000
"""Segments of a JPEG file before its frame header."""
_HEADER = 200_000
"""Base64 characters decoded to find the size: enough for the leading metadata of JPEG files."""


@dataclass(frozen=True, slots=True)
class Image:
    """An image of a message."""

    size: Size | None
    """`None` if the message does not contain the image, or its format is not supported."""
    low_detail: bool
    """Whether the message requests low detail; any other value may cost the full size."""


class ImagePart(NamedTuple):
    """A part of a message that is an image."""

    image: Image
    rest: tuple[Fields | str, ...]
    """What else the part says: its other fields, and its address if that is too long to be one."""


def image_part(part: Fields) -> ImagePart | None:
    """Reads a part as an image: of OpenAI, Anthropic, Gemini, Bedrock, LangChain or MCP; `None` if it is none."""
    if part.get("type") not in _TYPES and _FIELDS.isdisjoint(part):
        return None
    match part:
        case {"type": "image_url", "image_url": {"url": str(url), **about}, **more} if _may_be_image(about, url):
            return _behind(url, about.get("detail"), about, more)
        case {"type": "image_url" | "input_image", "image_url": str(url), **more} if _may_be_image(more, url):
            return _behind(url, more.get("detail"), more)
        case {"type": "computer_screenshot", "image_url": str(url), **more} if _may_be_image(more, url):
            return _behind(url, None, more)
        case {"type": "image_generation_call", "result": str(data), **more}:
            return _inside(data, more)
        case {"type": "image", "source": {"type": "base64", "data": str() | bytes() as data, **about}, **more}:
            return _inside(data, about, more)
        case {"type": "image", "source": {"type": "url", "url": str(url), **about}, **more}:
            return _behind(url, None, about, more)
        case {"type": "image" | "media", "data": str() | bytes() as data, **more} if _is_image(more):
            return _inside(data, more)
        case {"type": "image", "base64": str(data), **more} if _is_image(more):
            return _inside(data, more)
        case {"type": "image", "url": str(url), **more} if _may_be_image(more, url):
            return _behind(url, None, more)
        case {"type": "image" | "input_image" | "computer_screenshot"}:
            return ImagePart(Image(None, low_detail=False), (part,))
        case {"image": {"source": {"bytes": str() | bytes() as data, **source}, **about}, **more}:
            return _inside(data, source, about, more)
        case {"image": {"source": {"location": _} | {"s3Location": _}, **about}, **more}:
            return ImagePart(Image(None, low_detail=False), (about, more))
        case {"inline_data": {"data": str() | bytes() as data, **about}, **more} if _is_image(about):
            return _inside(data, about, more)
        case {"inlineData": {"data": str() | bytes() as data, **about}, **more} if _is_image(about):
            return _inside(data, about, more)
        case {"file_data": {"file_uri": str(url), **about}, **more} if _is_image(about):
            return _behind(url, None, about, more)
        case {"fileData": {"fileUri": str(url), **about}, **more} if _is_image(about):
            return _behind(url, None, about, more)
    return None


def size_of(data: str | bytes) -> Size | None:
    """Reads the size of a PNG, GIF, JPEG or WebP image, as its bytes or in base64; `None` if it is unknown."""
    if isinstance(data, str):
        # Google's library writes base64 in the alphabet of addresses.
        encoded = data[:_HEADER].replace("-", "+").replace("_", "/")
        try:
            data = base64.b64decode(encoded, validate=True)
        except ValueError:
            return None
    width, height = _png(data) or _gif(data) or _webp(data) or _jpeg(data) or (0, 0)
    return (width, height) if width and height else None


def _kinds(about: Fields) -> list[Any]:
    """The media types that a part says its data have."""
    names = ("format", "mime_type", "mimeType", "content_type")
    return [about[name] for name in names if about.get(name)]


def _may_be_image(about: Fields, url: str = "") -> bool:
    """Whether nothing says that the data of a part are no image: some providers take documents there."""
    kinds = _kinds(about)
    if url[:5].lower() == "data:":
        kinds.append(url[5:])
    return all(isinstance(kind, str) and kind[:6].lower() == "image/" for kind in kinds)


def _is_image(about: Fields) -> bool:
    """Whether a part says that its data are an image."""
    return bool(_kinds(about)) and _may_be_image(about)


def _inside(data: str | bytes, *rest: Fields) -> ImagePart:
    return ImagePart(Image(size_of(data), low_detail=False), rest)


def _behind(url: str, detail: object, *rest: Fields) -> ImagePart:
    header, comma, data = url.partition(",")
    inline = bool(comma) and header[:5].lower() == "data:" and header.endswith(";base64")
    image = Image(size_of(data) if inline else None, low_detail=detail == "low")
    return ImagePart(image, rest if inline or len(url) <= _MOST_ADDRESS else (url, *rest))


def _png(data: bytes) -> Size | None:
    if data[:8] != b"\x89PNG\r\n\x1a\n":
        return None
    return int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")


def _gif(data: bytes) -> Size | None:
    if data[:4] != b"GIF8":
        return None
    return int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little")


def _webp(data: bytes) -> Size | None:
    if data[:4] != b"RIFF" or data[8:12] != b"WEBP":
        return None
    if data[12:16] == b"VP8X":
        return int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
    if data[12:16] == b"VP8L":
        bits = int.from_bytes(data[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    return int.from_bytes(data[26:28], "little") & 0x3FFF, int.from_bytes(data[28:30], "little") & 0x3FFF


def _jpeg(data: bytes) -> Size | None:
    """Walks the segments to the frame header: markers C0 to CF except C4, C8 and CC."""
    if data[:2] != b"\xff\xd8":
        return None
    at = 2
    for _ in range(_MOST_SEGMENTS):
        if at + 9 > len(data) or data[at] != 0xFF:
            break
        marker = data[at + 1]
        if marker == 0xFF:  # padding
            at += 1
        elif 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return int.from_bytes(data[at + 7 : at + 9], "big"), int.from_bytes(data[at + 5 : at + 7], "big")
        else:
            at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return None
