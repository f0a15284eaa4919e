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

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from purser.wire.image_rules import CLAUDE_UP_TO_4_6, USUAL_IMAGES, ImageRule, by_family, image_rule_of

Vocabulary = Literal["o200k_base", "cl100k_base"]


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """Counting rules of a family of models."""

    vocabulary: Vocabulary
    """Vocabulary that counts texts."""
    margin: int = 0
    """Percent added to every text, because the vocabulary is not the model's own."""
    images: ImageRule = USUAL_IMAGES
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
        return self.encoding if self.images == USUAL_IMAGES else f"{self.encoding}, {self.images}"

    def with_margin(self, tokens: int) -> int:
        """Adds the margin to `tokens` of the vocabulary, rounded up."""
        return -(-tokens * (100 + self.margin) // 100)


_OTHERS = Tokenizer("cl100k_base", margin=25)
# The 350 tokens that Claude adds for tool use were not verified against a provider here.
_FAMILIES: tuple[tuple[str, Tokenizer], ...] = (
    (CLAUDE_UP_TO_4_6, Tokenizer("cl100k_base", margin=30, tools=350)),
    (r"claude", Tokenizer("cl100k_base", margin=60, tools=350)),
    (r"gpt-4o|gpt-4\.[15]|gpt-(oss|[5-9])|(^|\W)o[1-9](?!\d)", Tokenizer("o200k_base")),
    (r"gpt-(4|3)|text-embedding-(3|ada-002)|davinci-002|babbage-002", Tokenizer("cl100k_base")),
    (r"gemini|gemma", Tokenizer("o200k_base", margin=15)),
)


@lru_cache(maxsize=1024)
def tokenizer_of(model: str) -> Tokenizer:
    """The tokenizer for `model`, named with or without its provider; unknown names get the default, never an error."""
    return replace(by_family(model, _FAMILIES, _OTHERS), images=image_rule_of(model))
