"""The figures that strategies go by, and the presets that name some of them together."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from purser.context.errors import InvalidSettings
from purser.context.strategies.names import StrategyName


class Part(StrEnum):
    """What a window is made of."""

    SETTINGS = "settings"
    """Personal settings."""
    SYSTEM = "system"
    """The system messages that a conversation begins with."""
    SUMMARY = "summary"
    CONVERSATION = "conversation"
    """All up to the newest user message."""
    MEMORY = "memory"
    """Retrieved memory and documents of the caller."""
    NEWEST = "newest"
    """The newest user message and what follows it."""


@dataclass(frozen=True, slots=True)
class StrategySettings:
    """Figures of all strategies; each goes by those that concern it."""

    primers_count: int = 3
    """First messages that a strategy with primers takes."""
    recents_count: int | None = 20
    """Newest messages that a strategy with a summary takes; what is older is covered. `None`: all that fit."""
    batch_count: int = 1
    """Messages are covered so many at a time: more than `recents_count` stay until the next batch is full."""
    rounds: int = 10
    """Newest rounds that `sliding_window` takes. A round is a user message and all that follows until the next."""
    rounds_by_size: tuple[tuple[int, int], ...] = ((51, 4), (30, 6), (15, 8))
    """Rounds that `smart_truncation` takes, each with the least messages of a conversation that it applies to; all of a
    shorter one."""
    summary_by_rounds: bool = False
    """Whether recents are the rounds of `rounds_by_size` instead of `recents_count` messages."""
    extends: bool = True
    """Whether more than the recents is taken where a finished summary leaves room; otherwise the counts are a bound."""
    keeps_first_request: bool = True
    """Whether the first user message stays verbatim."""
    trigger_ratio: float = 1.0
    """Share of the budget above which a conversation is cut."""
    keep_ratio: float = 1.0
    """Share of the budget that a window which was cut fills at most; what always stays may go beyond."""
    reply_reserve: int = 0
    """Tokens of the budget that, for the trigger, count as taken."""
    most_messages: int | None = None
    """Messages above which a conversation is cut even where it fits."""
    least_messages: int = 0
    """Shorter conversations are not cut where they fit."""
    summary_share: float = 0.25
    """Share of the window that is set aside for a summary before primers and recents are taken."""
    summary_most_tokens: int | None = None
    """Of the message that shows a summary; `None`: whatever room is left."""
    summary_header: str | None = None
    """What stands above a summary; `None`: which messages it covers."""
    summary_role: str = "user"
    """Role of the message that shows a summary; `system` only where a published format demands it."""
    summary_dynamic: bool = False
    """Whether the length of a summary goes by that of its source, as `purser.context.compression.lengths` says."""
    order: tuple[Part, ...] = tuple(Part)
    """What stands where. The stable part goes first, so that prompt caches of providers stay warm."""

    def __post_init__(self) -> None:
        for name in ("trigger_ratio", "keep_ratio"):
            if not 0 < getattr(self, name) <= 1:
                raise InvalidSettings(f"{name} {getattr(self, name)!r} is not valid: use a number above 0 and up to 1")
        for name in ("rounds", "batch_count"):
            if getattr(self, name) < 1:
                raise InvalidSettings(f"{name} {getattr(self, name)!r} is not valid: use 1 or more")
        if not 0 <= self.summary_share < 1:
            raise InvalidSettings(f"summary_share {self.summary_share!r} is not valid: use 0 or more, below 1")
        if sorted(self.order) != sorted(Part):
            raise InvalidSettings(f"order is not valid: name each of {', '.join(Part)} once")


@dataclass(frozen=True, slots=True)
class WindowPreset:
    """A strategy with its figures."""

    strategy: StrategyName
    """Unless the caller names another."""
    settings: StrategySettings = field(default_factory=StrategySettings)


_MEMORY_LAST = (Part.SETTINGS, Part.SYSTEM, Part.SUMMARY, Part.CONVERSATION, Part.NEWEST, Part.MEMORY)

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
            order=_MEMORY_LAST,
        ),
    ),
    "optimizer": WindowPreset(
        StrategyName.AUTO,
        StrategySettings(
            summary_by_rounds=True, extends=False, reply_reserve=2_000, summary_role="system", summary_dynamic=True
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
            summary_most_tokens=400,
            summary_header="Previous context summary:",
        ),
    ),
}
"""Windows as known systems build them. The use-case presets of a task are in `purser.context.settings`."""
