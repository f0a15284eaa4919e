"""Tokenizer by model name.

OpenAI publishes its vocabularies, and LiteLLM ships the two that are in use. Other models use the closer of the two
with a margin. A wrong vocabulary is as bad as a poor estimate (a third off on Chinese or Korean text), so the
tokenizer is selected by model family.

Margins, and how they were found:

- Claude up to 4.6: the last vocabulary that Anthropic published takes 0.92 to 1.16 times the tokens of `cl100k_base` on
  English, Chinese, Japanese, Korean, French and Italian dialogue, 1.13 on code, 1.27 on Indonesian (measured on the
  conversations of the accuracy test). Published comparisons of Claude 3.5 with GPT-4o: 1.16 on English, 1.30 on Python.
- Claude from 4.7: published counts of its new tokenizer by the provider's own endpoint are 1.2 to 1.46 times those of
  the old one on Latin prose, 1.13 to 1.30 on code, 1.0 on other scripts.
- Gemini and all others: not measured, chosen for caution.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from purser.context.tokens.images import ImageRule, Patches, Tiles

Vocabulary = Literal["o200k_base", "cl100k_base"]

_USUAL_IMAGES = Tiles(85, 170)


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """Counting rules of a family of models."""

    vocabulary: Vocabulary
    """Vocabulary that counts texts."""
    margin: int = 0
    """Percent added to every text, because the vocabulary is not the model's own."""
    images: ImageRule = _USUAL_IMAGES
    """Cost rule of images."""
    tools: int = 16
    """Tokens around the tool definitions of a request."""

    @property
    def encoding(self) -> str:
        """Vocabulary and margin: text counts with equal `encoding` are equal."""
        return f"{self.vocabulary}+{self.margin}%" if self.margin else self.vocabulary

    @property
    def key(self) -> str:
        """Identifies the counting rules: message counts with equal `key` are equal, images included."""
        return self.encoding if self.images == _USUAL_IMAGES else f"{self.encoding}, {self.images}"

    def with_margin(self, tokens: int) -> int:
        """Adds the margin to `tokens` of the vocabulary, rounded up."""
        return -(-tokens * (100 + self.margin) // 100)


_CLAUDE_VERSION = re.compile(r"claude(?:-[a-z]+)*-v?(\d+)(?:[-.](\d{1,2})(?!\d))?")
_CLAUDE = Tokenizer("cl100k_base", margin=30, images=Patches(28, 1600), tools=350)
_CLAUDE_4_7 = Tokenizer("cl100k_base", margin=60, images=Patches(28, 4800), tools=350)
_OTHERS = Tokenizer("cl100k_base", margin=25)
# Images up to GPT-5 follow OpenAI's guide; later GPT, Claude and Gemini use the maximum of published measurements.
# Neither these nor the 350 tokens that Claude adds for tool use were verified against a provider here.
_FAMILIES: tuple[tuple[str, Tokenizer], ...] = (
    (r"gpt-4o-mini", Tokenizer("o200k_base", images=Tiles(2833, 5667))),
    (r"gpt-4o|gpt-4\.5|gpt-4\.1(?!-mini|-nano)", Tokenizer("o200k_base")),
    (r"gpt-(4\.1|5)-mini", Tokenizer("o200k_base", images=Patches(32, 1536, 162))),
    (r"gpt-(4\.1|5)-nano", Tokenizer("o200k_base", images=Patches(32, 1536, 246))),
    (r"gpt-5(?![.\d])", Tokenizer("o200k_base", images=Tiles(70, 140))),
    (r"(^|\W)o4-mini", Tokenizer("o200k_base", images=Patches(32, 1536, 172))),
    (r"(^|\W)o[1-9](?!\d)", Tokenizer("o200k_base", images=Tiles(75, 150))),
    (r"gpt-(oss|[5-9])", Tokenizer("o200k_base", images=Patches(32, 12_000, 120))),
    (r"gpt-(4|3)|text-embedding-(3|ada-002)|davinci-002|babbage-002", Tokenizer("cl100k_base")),
    (r"gemini|gemma", Tokenizer("o200k_base", margin=15, images=Tiles(1120, 0))),
)


@lru_cache(maxsize=1024)
def tokenizer_of(model: str) -> Tokenizer:
    """The tokenizer for `model`, named with or without its provider; unknown names get the default, never an error."""
    name = model.rpartition("/")[2].lower()
    if "claude" in name:
        version = _CLAUDE_VERSION.search(name)
        # Names without a version number are newer than the new tokenizer.
        old = version is not None and (int(version[1]), int(version[2] or 0)) < (4, 7)
        return _CLAUDE if old else _CLAUDE_4_7
    return next((tokenizer for family, tokenizer in _FAMILIES if re.search(family, name)), _OTHERS)
