"""Automatic choice of a strategy by size, content, number of summaries and preference.

The matrix is evaluated first. Its rows are the larger of two size classes, so that a few long messages weigh as much as
many short ones:

| class | messages | characters | fast | balanced | quality |
| --- | --- | --- | --- | --- | --- |
| short | under 10 | under 2,000 | truncate | truncate | truncate |
| medium | 10 to 30 | 2,000 to 10,000 | truncate | by scores | summarize |
| long | over 30 | over 10,000 | truncate | summarize | summarize |

Scores decide the one cell that the matrix leaves open; a tie truncates. Two rules take precedence: a conversation is
truncated if there is no summarizer, or after three summaries.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from fractions import Fraction

from purser.wire.enums import Preference as Preference
from purser.wire.enums import StrategyName

TRUNCATE = StrategyName.SMART_TRUNCATION
"""Strategy for truncation."""
TRUNCATE_BY_TOKENS = StrategyName.TOKEN_TRUNCATION
"""Truncation where most messages are tool traffic: a tool loop is one round, so limiting rounds cuts none of it."""
SUMMARIZE = StrategyName.SUMMARY
"""Strategy for summarization."""
MOST_SUMMARIES = 3
"""Maximum summaries of one conversation; after them it is truncated."""


class Size(IntEnum):
    """Size class of a conversation."""

    SHORT = 0
    MEDIUM = 1
    LONG = 2

    @classmethod
    def of(cls, figure: int, *, medium: int, long: int) -> "Size":
        """Classifies a figure: medium from `medium`, long above `long`."""
        return cls.LONG if figure > long else cls.MEDIUM if figure >= medium else cls.SHORT


@dataclass(frozen=True, slots=True)
class Choice:
    """A strategy and the reason for choosing it."""

    strategy: StrategyName
    """`smart_truncation`, `token_truncation` or `summary`."""
    reason: str
    """Human-readable reason with figures, never text of the conversation."""
    scores: Mapping[str, Fraction] = field(default_factory=dict)
    """Weighted scores of `truncate` and `summarize`, if scores decided."""


_WEIGHTS: Mapping[Preference, tuple[Fraction, Fraction]] = {
    Preference.FAST: (Fraction("0.8"), Fraction("0.2")),
    Preference.BALANCED: (Fraction("0.5"), Fraction("0.5")),
    Preference.QUALITY: (Fraction("0.2"), Fraction("0.8")),
}
_MATRIX: Mapping[Size, Mapping[Preference, bool | None]] = {
    Size.SHORT: dict.fromkeys(Preference, False),
    Size.MEDIUM: {Preference.FAST: False, Preference.BALANCED: None, Preference.QUALITY: True},
    Size.LONG: {Preference.FAST: False, Preference.BALANCED: True, Preference.QUALITY: True},
}
"""Whether to summarize; `None` if scores decide."""


def choose(
    *,
    messages: int,
    characters: int,
    preference: Preference = Preference.BALANCED,
    summaries: int = 0,
    can_summarize: bool = True,
    tool_messages: int = 0,
) -> Choice:
    """Chooses between truncation and a summary.

    Args:
        messages: number of messages in the conversation.
        characters: length of their texts.
        preference: preference of the caller.
        summaries: how often this conversation was already summarized.
        can_summarize: whether a summarizer is available.
        tool_messages: number of messages with a tool call or a result.
    """
    truncation = TRUNCATE_BY_TOKENS if 2 * tool_messages > messages else TRUNCATE
    if not can_summarize:
        return Choice(truncation, "no summarizer is configured: truncate")
    if summaries >= MOST_SUMMARIES:
        return Choice(truncation, f"already summarized {summaries} times, at most {MOST_SUMMARIES}: truncate")
    size, description = _size(messages, characters)
    summarize, found = _MATRIX[size][preference], dict[str, Fraction]()
    how = f"{description}, preference {preference}"
    if summarize is None:
        found = scores(messages=messages, characters=characters, preference=preference, summaries=summaries)
        summarize = found["summarize"] > found["truncate"]
        how += f", scores truncate {float(found['truncate']):g} and summarize {float(found['summarize']):g}"
    strategy = SUMMARIZE if summarize else truncation
    return Choice(strategy, f"{how}: {'summarize' if summarize else 'truncate'}", found)


def scores(*, messages: int, characters: int, preference: Preference, summaries: int) -> dict[str, Fraction]:
    """Weighted scores of truncation and summarization; takes the arguments of `choose`."""
    truncate = 20 + 30 * (messages <= 50) + 30 * (characters <= 10_000) + 20 * (summaries < 5)
    summarize = 20 + 30 * (messages >= 10) + 30 * (characters >= 2_000) + (20 if summaries < 3 else -50)
    for_truncate, for_summarize = _WEIGHTS[preference]
    return {"truncate": for_truncate * truncate, "summarize": for_summarize * summarize}


def _size(messages: int, characters: int) -> tuple[Size, str]:
    """The larger of both size classes, and a description that names both if they differ."""
    by_messages = Size.of(messages, medium=10, long=30)
    by_characters = Size.of(characters, medium=2_000, long=10_000)
    size = max(by_messages, by_characters)
    description = f"{size.name.lower()} conversation of {messages} messages and {characters:,} characters"
    if by_messages != by_characters:
        description += f" (the larger of {by_messages.name.lower()} and {by_characters.name.lower()})"
    return size, description
