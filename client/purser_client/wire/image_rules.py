"""Token cost of images, by family of models. Standard library only."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol, TypeVar

from .images import Image

T = TypeVar("T")


class ImageRule(Protocol):
    """How a family of models charges for images: by size, or the maximum where the size is unknown."""

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


CLAUDE_UP_TO_4_6 = r"claude(-[a-z]+)*-v?([0-3]|4(?![-.]([7-9]|\d\d)(?!\d)))(?!\d)"
"""Names of Claude without a version number are newer."""
USUAL_IMAGES = Tiles(85, 170)
_CLAUDE_4_7 = Patches(28, 4800)
# Images up to GPT-5 follow OpenAI's guide; later GPT, Claude and Gemini use the maximum of published measurements.
# None of these was verified against a provider here.
_FAMILIES: tuple[tuple[str, ImageRule], ...] = (
    (CLAUDE_UP_TO_4_6, Patches(28, 1600)),
    (r"claude", _CLAUDE_4_7),
    (r"gpt-4o-mini", Tiles(2833, 5667)),
    (r"gpt-4o|gpt-4\.5|gpt-4\.1(?!-mini|-nano)", USUAL_IMAGES),
    (r"gpt-(4\.1|5)-mini", Patches(32, 1536, 162)),
    (r"gpt-(4\.1|5)-nano", Patches(32, 1536, 246)),
    (r"gpt-5(?![.\d])", Tiles(70, 140)),
    (r"(^|\W)o4-mini", Patches(32, 1536, 172)),
    (r"(^|\W)o[1-9](?!\d)", Tiles(75, 150)),
    (r"gpt-(oss|[5-9])", Patches(32, 12_000, 120)),
    (r"gpt-(4|3)|text-embedding-(3|ada-002)|davinci-002|babbage-002", USUAL_IMAGES),
    (r"gemini|gemma", Tiles(1120, 0)),
)


@lru_cache(maxsize=1024)
def image_rule_of(model: str | None) -> ImageRule:
    """The rule for `model`, named with or without its provider; unknown names get the usual one.

    Without a name it is that of the newer Claude: as much as most models charge, or more, and at most 4,800.
    """
    return _CLAUDE_4_7 if model is None else by_family(model, _FAMILIES, USUAL_IMAGES)


def by_family(model: str, families: Sequence[tuple[str, T]], other: T) -> T:
    """What the first of `families` has whose pattern is found in the name of `model`, without its provider."""
    name = model.rpartition("/")[2].lower()
    return next((found for family, found in families if re.search(family, name)), other)
