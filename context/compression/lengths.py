"""How long a summary is asked to be, and the header that says how long it became."""

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

LENGTH_RATIO = 0.15
"""Share of its source that a summary may take."""
LEAST_CHARACTERS = 100
MOST_CHARACTERS = 800
SHORT_BELOW = 500
"""Characters of a source below which half the length will do."""
LAYERED_FROM = 2_000
"""Characters from which a source is told in layers."""


class Style(StrEnum):
    """What a summary of some length looks like: the wish that its request states."""

    SHORT = "in one or two sentences"
    KEY_POINTS = "as key points"
    LAYERED = "in layers: topics, then decisions, then details"


@dataclass(frozen=True, slots=True)
class Length:
    """What to ask for."""

    characters: int
    """At most; never more than the source has."""
    style: Style


def summary_length(
    characters: int, *, ratio: float = LENGTH_RATIO, least: int = LEAST_CHARACTERS, most: int = MOST_CHARACTERS
) -> Length:
    """The length of a summary by that of its source: 1,000 characters are told in 150, 10,000 in 800.

    Args:
        characters: of the source.
        ratio: share of the source, kept between `least` and `most`; half of that for a source below 500 characters.
        least, most: characters.
    """
    wanted = min(max(int(characters * Fraction(str(ratio))), least), most)
    if characters < SHORT_BELOW:
        return Length(min(wanted // 2, characters), Style.SHORT)
    style = Style.KEY_POINTS if characters < LAYERED_FROM else Style.LAYERED
    return Length(min(wanted, characters), style)


_HEADERS = {
    "zh": "[历史对话总结 - 原文{source}字，总结{summary}字]",
    "ja": "[これまでの会話の要約 - 原文{source}文字、要約{summary}文字]",
    "ko": "[이전 대화 요약 - 원문 {source}자, 요약 {summary}자]",
    "en": "[Summary of the earlier conversation - source {source} characters, summary {summary} characters]",
}


def length_header(source: int, summary: int, language: str = "en") -> str:
    """The line above a summary that says how much it stands for; in English where the language has no wording.

    Args:
        source, summary: characters of both.
        language: ISO 639-1 code.
    """
    return _HEADERS.get(language, _HEADERS["en"]).format(source=source, summary=summary)
