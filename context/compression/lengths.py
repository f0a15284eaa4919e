"""Requested length of a summary."""

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

LENGTH_RATIO = 0.15
"""Length of a summary as a share of its source."""
LEAST_CHARACTERS = 100
MOST_CHARACTERS = 800
SHORT_BELOW = 500
"""Characters of a source below which half the length is requested."""
LAYERED_FROM = 2_000
"""Characters of a source from which a layered summary is requested."""


class Style(StrEnum):
    """Form of a summary, as the request to the model states it."""

    SHORT = "in one or two sentences"
    KEY_POINTS = "as key points"
    LAYERED = "in layers: topics, then decisions, then details"


@dataclass(frozen=True, slots=True)
class Length:
    """Requested length and form."""

    characters: int
    """Upper bound; never more than the source has."""
    style: Style


def summary_length(characters: int, *, ratio: float = LENGTH_RATIO) -> Length:
    """Derives the length of a summary from its source: 150 characters for 1,000, 800 for 10,000.

    Args:
        characters: length of the source.
        ratio: share of the source, from 100 to 800 characters; halved for a source below 500 characters.
    """
    wanted = min(max(int(characters * Fraction(str(ratio))), LEAST_CHARACTERS), MOST_CHARACTERS)
    if characters < SHORT_BELOW:
        return Length(min(wanted // 2, characters), Style.SHORT)
    style = Style.KEY_POINTS if characters < LAYERED_FROM else Style.LAYERED
    return Length(min(wanted, characters), style)
