"""Parameters of strategies, and presets of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from typing import Any

from purser.context.errors import InvalidSettings
from purser.wire.enums import StrategyName


class Part(StrEnum):
    """Parts of a window."""

    SETTINGS = "settings"
    """Personal settings."""
    SYSTEM = "system"
    """The leading system messages of a conversation."""
    SUMMARY = "summary"
    CONVERSATION = "conversation"
    """All messages before the newest user message."""
    MEMORY = "memory"
    """Memory search results and documents of the caller."""
    NEWEST = "newest"
    """The newest user message and what follows it."""


ROUNDS_BY_SIZE = ((51, 4), (30, 6), (15, 8))
"""Rounds of `smart_truncation` by the size of a conversation."""


def share(tokens: int, ratio: float) -> int:
    """A share of tokens, rounded down; the ratio is taken as a decimal, so 0.29 of 100 is 29."""
    exact = _decimal(ratio)
    return tokens * exact.numerator // exact.denominator


@lru_cache
def _decimal(ratio: float) -> Fraction:
    return Fraction(str(ratio))


@dataclass(frozen=True, slots=True)
class StrategySettings:
    """Parameters of all strategies; each uses those that apply to it."""

    primers_count: int = 3
    """Number of first messages included by a strategy with primers."""
    recents_count: int | None = 20
    """Number of newest messages included by a strategy with a summary of the rest; `None` for all that fit."""
    batch_count: int = 1
    """Number of messages covered at a time: more than `recents_count` stay until the next batch is full."""
    rounds: int = 10
    """Number of newest rounds in `sliding_window`. A round is a user message and all that follows until the next."""
    rounds_by_size: tuple[tuple[int, int], ...] = ROUNDS_BY_SIZE
    """Pairs of minimum messages of a conversation and rounds that `smart_truncation` then includes; a shorter
    conversation is included whole."""
    summary_by_rounds: bool = False
    """Whether recents are counted in rounds by `rounds_by_size` instead of `recents_count` messages."""
    extends: bool = True
    """Whether more than the recents is included if a finished summary leaves room; otherwise the counts are limits."""
    keeps_first_request: bool = True
    """Whether the first user message stays verbatim."""
    trigger_ratio: float = 1.0
    """Share of the budget above which a conversation is cut."""
    keep_ratio: float = 1.0
    """Share of the budget that a cut window may fill; required messages may exceed it."""
    reply_reserve: int = 0
    """Tokens of the budget that count as used when the trigger is evaluated."""
    most_messages: int | None = None
    """Number of messages above which a conversation is cut even if it fits."""
    cut_step: float = 0.0
    """Share of the budget that a cut without a summary may leave empty, so that the windows of the next turns begin
    with the same messages, which providers then cache; 0: all messages that fit are included."""
    least_messages: int = 0
    """Number of messages below which a conversation that fits is not cut."""
    summary_share: float = 0.6
    """Share of the window reserved for a summary before primers and recents are selected: an extract of many messages
    retains more of what is asked for later than as many tokens of the newest ones."""
    summary_ratio: float | None = None
    """Upper bound of the message that shows a summary, as a share of the tokens that it covers; `None` for no bound."""
    summary_min_tokens: int = 0
    """Tokens that the message may take in any case."""
    summary_most_tokens: int | None = None
    """Upper bound of the message that shows a summary; `None` for all remaining room."""
    summary_header: str | None = None
    """Header of a summary; `None` for the range of messages it covers."""
    summary_role: str = "user"
    """Role of the message that shows a summary; `system` only where a published format demands it."""
    summary_dynamic: bool = False
    """Whether the length of a summary depends on its source, by the rules of `purser.context.compression.lengths`."""
    order: tuple[Part, ...] = tuple(Part)
    """Order of the parts. Stable parts come first, so that prompt caches of providers stay warm."""

    def __post_init__(self) -> None:
        for name in ("trigger_ratio", "keep_ratio"):
            if not 0 < getattr(self, name) <= 1:
                raise InvalidSettings(f"{name} {getattr(self, name)!r} is not valid: use a number above 0 and up to 1")
        for name in ("rounds", "batch_count"):
            if getattr(self, name) < 1:
                raise InvalidSettings(f"{name} {getattr(self, name)!r} is not valid: use 1 or more")
        for name in ("summary_share", "cut_step"):
            if not 0 <= getattr(self, name) < 1:
                raise InvalidSettings(f"{name} {getattr(self, name)!r} is not valid: use 0 or more, below 1")
        if sorted(self.order) != sorted(Part):
            raise InvalidSettings(f"order is not valid: name each of {', '.join(Part)} once")

    def summary_room(self, covered: int, room: int) -> int:
        """Upper bound of the message that shows a summary.

        Args:
            covered: tokens of what it covers.
            room: tokens that the window leaves for it.
        """
        by_ratio = room if self.summary_ratio is None else share(covered, self.summary_ratio)
        most = room if self.summary_most_tokens is None else self.summary_most_tokens
        return min(room, most, max(by_ratio, self.summary_min_tokens))


_NAMES = {
    "target_ratio": "keep_ratio",
    "history_window_size": "most_messages",
    "min_messages": "least_messages",
    "summary_max_tokens": "summary_most_tokens",
}
"""Parameters by the name that settings of tasks give them, if that differs."""


def with_figures(parameters: StrategySettings, figures: Mapping[str, Any]) -> StrategySettings:
    """Replaces parameters by figures, which are named as in settings of tasks; others have no effect on a window."""
    known = {item.name for item in fields(StrategySettings)}
    given = {_NAMES.get(name, name): value for name, value in figures.items()}
    if "recents_only" in given:
        given["extends"] = not given["recents_only"]
    return replace(parameters, **{name: value for name, value in given.items() if name in known})


@dataclass(frozen=True, slots=True)
class WindowPreset:
    """A strategy with its parameters."""

    strategy: StrategyName
    """Default strategy; the caller may name another."""
    settings: StrategySettings = field(default_factory=StrategySettings)


_MEMORY_LAST = (Part.SETTINGS, Part.SYSTEM, Part.SUMMARY, Part.CONVERSATION, Part.NEWEST, Part.MEMORY)

_PUBLISHED_SHARE = 0.25
"""Where known systems summarize, their recents come first."""
WINDOW_PRESETS: Mapping[str, WindowPreset] = {
    "education": WindowPreset(
        StrategyName.SUMMARY,
        StrategySettings(
            recents_count=40,
            extends=False,
            keeps_first_request=False,
            trigger_ratio=0.80,
            keep_ratio=0.40,
            most_messages=40,
            least_messages=6,
            summary_share=_PUBLISHED_SHARE,
            summary_most_tokens=1_024,
        ),
    ),
    "game": WindowPreset(
        StrategyName.SLIDING_WINDOW,
        StrategySettings(
            rounds=10,
            recents_count=1,
            extends=False,
            keeps_first_request=False,
            trigger_ratio=0.90,
            keep_ratio=0.90,
            most_messages=9,
        ),
    ),
    "cookhero": WindowPreset(
        StrategyName.SUMMARY,
        StrategySettings(
            recents_count=10,
            batch_count=6,
            extends=False,
            keeps_first_request=False,
            most_messages=15,
            summary_share=_PUBLISHED_SHARE,
            order=_MEMORY_LAST,
        ),
    ),
    "optimizer": WindowPreset(
        StrategyName.AUTO,
        StrategySettings(
            summary_by_rounds=True,
            extends=False,
            reply_reserve=2_000,
            summary_share=_PUBLISHED_SHARE,
            summary_role="system",
            summary_dynamic=True,
        ),
    ),
    "shannon": WindowPreset(
        StrategyName.THREE_PART,
        StrategySettings(
            primers_count=3,
            recents_count=20,
            extends=False,
            trigger_ratio=0.75,
            keep_ratio=0.375,
            least_messages=24,
            summary_share=_PUBLISHED_SHARE,
            summary_most_tokens=400,
            summary_header="Previous context summary:",
        ),
    ),
}
"""Windows as known systems build them. The use-case presets of tasks are in `purser.context.settings`."""
Preset = StrEnum("Preset", {name: name for name in WINDOW_PRESETS})  # type: ignore[misc] # known when it runs
"""Their names."""
