"""Token cost of images: by size if the message contains the image, otherwise the model's maximum.

An image behind a URL is never fetched.
"""

import base64
import binascii
import math
from dataclasses import dataclass
from typing import Protocol

Size = tuple[int, int]
"""Width and height in pixels."""


@dataclass(frozen=True, slots=True)
class Image:
    """An image of a message."""

    size: Size | None
    """`None` if the message does not contain the image, or its format is not supported."""
    low_detail: bool
    """Whether the message requests low detail; any other value may cost the full size."""


class ImageRule(Protocol):
    """How a family of models charges for images."""

    def tokens(self, image: Image) -> int:
        """Input tokens of one image."""


@dataclass(frozen=True, slots=True)
class Tiles:
    """OpenAI's rule up to GPT-5: scales to 2,048 px square and 768 px on the short side, then counts 512 px tiles."""

    base: int
    """Base tokens of every image; an image with low detail costs no more."""
    tile: int
    """Tokens of each tile."""

    def __str__(self) -> str:
        return f"tiles {self.base}+{self.tile}"

    def tokens(self, image: Image) -> int:
        if image.low_detail:
            return self.base
        width, height = image.size or (2048, 768)
        scale = min(1.0, 2048 / max(width, height), 768 / min(width, height))
        tiles = math.ceil(width * scale / 512) * math.ceil(height * scale / 512)
        return self.base + self.tile * tiles


@dataclass(frozen=True, slots=True)
class Patches:
    """One token per square patch, times a factor of the model; larger images are scaled to a maximum of patches."""

    side: int
    """Side of a patch in pixels."""
    most: int
    """Maximum number of patches."""
    percent: int = 100
    """Tokens per 100 patches."""

    def __str__(self) -> str:
        return f"patches {self.side}px {self.most}x{self.percent}%"

    def tokens(self, image: Image) -> int:
        width, height = image.size or (self.side * self.most, self.side)
        patches = min(self.most, math.ceil(width / self.side) * math.ceil(height / self.side))
        return -(-patches * self.percent // 100)


_HEADER = 200_000
"""Base64 characters decoded to find the size: enough for the leading metadata of JPEG files."""


def size_of(encoded: str) -> Size | None:
    """Reads the size of a PNG, GIF, JPEG or WebP image in base64; `None` if it is unknown."""
    try:
        data = base64.b64decode(encoded[:_HEADER], validate=True)
    except binascii.Error:
        return None
    width, height = _png(data) or _gif(data) or _webp(data) or _jpeg(data) or (0, 0)
    return (width, height) if width and height else None


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
    while at + 9 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xFF:  # padding
            at += 1
        elif 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return int.from_bytes(data[at + 7 : at + 9], "big"), int.from_bytes(data[at + 5 : at + 7], "big")
        else:
            at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return None
