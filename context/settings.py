"""Context settings: how much of a window history may fill, and when it is compressed."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Self

from purser.context.compression.requests import DROP, KEEP, KeepRules
from purser.context.errors import InvalidSettings
from purser.context.strategies import STRATEGIES, Part, StrategyName, StrategySettings
from purser.context.strategies.choice import Preference


@dataclass(frozen=True, slots=True)
class ContextSettings:
    """Settings of one agent's context; the names match those of a task file where it has them."""

    context_window_tokens: int = 128_000
    """Context window in tokens of a model that is in no table."""
    output_token_reserve: int = 4_096
    """Tokens of a window reserved for the reply."""
    system_token_reserve: int = 2_000
    """Minimum number of tokens reserved for system prompt and tools."""
    history_token_budget_ratio: float = 0.60
    """Share of a window, after its reserves, that history may fill."""
    trigger_ratio: float = 0.75
    """Share of the context budget above which history is compressed; 1.0 never compresses."""
    target_ratio: float = 0.375
    """Share of the context budget to which a compression reduces a conversation."""
    primers_count: int = 3
    """First messages of a conversation that stay verbatim."""
    recents_count: int = 20
    """Last messages of a conversation that stay verbatim; fewer do if the target requires it."""
    history_window_size: int = 50
    """Messages of a conversation above which older ones are compressed."""
    strategy: StrategyName = StrategyName.THREE_PART
    """How windows are cut."""
    preference: Preference = Preference.BALANCED
    """Preference by which the strategy `auto` chooses."""
    summary_keep: str = KEEP
    """What a summary must retain."""
    summary_drop: str = DROP
    """What a summary may leave out."""

    def __post_init__(self) -> None:
        for name in ("history_token_budget_ratio", "trigger_ratio", "target_ratio"):
            if not 0 < getattr(self, name) <= 1:
                raise InvalidSettings(f"{name} {getattr(self, name)!r} is not valid: use a number above 0 and up to 1")
        for name in ("primers_count", "recents_count", "output_token_reserve", "system_token_reserve"):
            if getattr(self, name) < 0:
                raise InvalidSettings(f"{name} {getattr(self, name)!r} is not valid: use 0 or more")
        if self.target_ratio >= self.trigger_ratio:
            raise InvalidSettings(
                f"target_ratio {self.target_ratio!r} is not valid: use less than trigger_ratio {self.trigger_ratio!r}"
            )

    def overridden(self, *layers: Mapping[str, int | float | str | None]) -> Self:
        """Overrides fields by layers, of which the first takes precedence; `None` overrides nothing.

        A trigger without a target that is not above the current target sets the target to half of itself.
        """
        given: dict[str, Any] = {
            name: value for layer in reversed(layers) for name, value in layer.items() if value is not None
        }
        for name, kind in (("strategy", StrategyName), ("preference", Preference)):
            if name in given:
                given[name] = kind(given[name])
        trigger = given.get("trigger_ratio", self.trigger_ratio)
        if "target_ratio" not in given and self.target_ratio >= trigger:
            given["target_ratio"] = trigger / 2
        return replace(self, **given)

    def context_budget(self, window: int | None = None, system_tokens: int = 0) -> int:
        """Tokens that history may fill: 73,142 of a 128,000 window with the defaults.

        Args:
            window: context window of the model in tokens, if known.
            system_tokens: counted tokens of system prompt and tool definitions.
        """
        window = self.context_window_tokens if window is None else window
        reserved = self.output_token_reserve + max(self.system_token_reserve, system_tokens)
        return max(0, share(window - reserved, self.history_token_budget_ratio))

    @property
    def primers(self) -> int:
        """Number of primers that the strategy uses."""
        return self.primers_count if STRATEGIES[self.strategy].primers else 0

    @property
    def parameters(self) -> StrategySettings:
        """Parameters of agents' windows: all uncovered messages count as recent, and the system prompt is the
        agent's."""
        return StrategySettings(
            primers_count=self.primers_count,
            recents_count=None,
            trigger_ratio=self.trigger_ratio,
            order=(Part.SETTINGS, Part.SUMMARY, Part.SYSTEM, Part.CONVERSATION, Part.MEMORY, Part.NEWEST),
        )

    @property
    def keep_rules(self) -> KeepRules:
        """Instructions to a model on what summaries must retain."""
        return KeepRules(self.summary_keep, self.summary_drop)

    @property
    def compresses(self) -> bool:
        """Whether compression is on."""
        return self.trigger_ratio < 1


PRESETS: Mapping[str, Mapping[str, int | float]] = {
    "chat": {"primers_count": 2, "recents_count": 10, "history_window_size": 30},
    "debugging": {"primers_count": 5, "recents_count": 30, "history_window_size": 100, "trigger_ratio": 0.85},
    "long_running": {"history_window_size": 75},
    "governed": {},
}
"""The context half of each use-case preset; the budget half is in `budget`."""


def share(tokens: int, ratio: float) -> int:
    """A share of tokens, rounded down; the ratio is taken as a decimal, so 0.29 of 100 is 29."""
    return int(tokens * Fraction(str(ratio)))
