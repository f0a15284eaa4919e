"""Context settings: how much of a window history may fill, and when it is compressed."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from purser.budget.pricing.price_book import PriceBook
from purser.context.compression.lengths import LEAST_CHARACTERS, LENGTH_RATIO, MOST_CHARACTERS
from purser.context.compression.requests import DROP, KEEP, KeepRules
from purser.context.conversation.conversations import Conversation
from purser.context.errors import InvalidSettings
from purser.context.strategies import (
    STRATEGIES,
    WINDOW_PRESETS,
    Part,
    StrategyName,
    StrategySettings,
    WindowPreset,
    strategy_of,
)
from purser.context.strategies.choice import Preference
from purser.context.strategies.settings import ROUNDS_BY_SIZE, share
from purser.context.strategies.strategy import Strategy
from purser.context.tokens.windows import DEFAULT_WINDOW, window_of

CUT_STEP = 0.25
"""Step in which agents' windows are cut; `purser bench windows` measures what providers can then cache."""


@dataclass(frozen=True, slots=True)
class ContextSettings:
    """Settings of one agent's context; the names match those of a task file where it has them."""

    context_window_tokens: int = DEFAULT_WINDOW
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
    strategy: StrategyName = StrategyName.HYBRID
    """How windows are cut."""
    preference: Preference = Preference.BALANCED
    """Preference by which the strategy `auto` chooses."""
    rounds: int = 10
    """Newest rounds of `sliding_window`."""
    rounds_by_size: tuple[tuple[int, int], ...] = ROUNDS_BY_SIZE
    """Pairs of minimum messages of a conversation and rounds that `smart_truncation` then includes."""
    summary_by_rounds: bool = False
    """Whether a summary covers all before the rounds of `rounds_by_size`, instead of before `recents_count`."""
    batch_count: int = 1
    """Messages that a compression covers at a time: with 10 recents and a batch of 6, the oldest 6 of 16."""
    recents_only: bool = False
    """Whether a window above its trigger shows no messages older than the recents, even if no summary covers them."""
    min_messages: int = 0
    """Messages of a conversation below which it is neither cut nor compressed if it fits."""
    keep_ratio: float = 1.0
    """Share of the context budget that a window above its trigger may fill."""
    reply_reserve: int = 0
    """Tokens of the context budget that count as used when the trigger is evaluated."""
    keeps_first_request: bool = True
    """Whether the first user message stays verbatim."""
    order: tuple[Part, ...] = tuple(Part)
    """Order of the parts of a window."""
    summary_ratio: float = 0.25
    """Tokens by which a summary may grow, as a share of the messages that it newly covers."""
    summary_min_tokens: int = 100
    """Tokens that a summary may have in any case."""
    summary_max_tokens: int | None = None
    """Upper bound of a summary in tokens; `None` for what the target leaves."""
    summary_header: str | None = None
    """Line above a summary; empty for none, `None` for the usual one, which states range and lengths."""
    max_tokens: int | None = None
    """Upper bound of the context budget in tokens; `None` for no further bound."""
    window_tokens: int | None = None
    """Upper bound of the model's context window in tokens; `None` for no further bound."""
    model: str | None = None
    """Model of agents that name none."""
    summary_keep: str = KEEP
    """What a summary must retain."""
    summary_drop: str = DROP
    """What a summary may leave out."""

    def __post_init__(self) -> None:
        for name in ("history_token_budget_ratio", "trigger_ratio", "target_ratio", "keep_ratio", "summary_ratio"):
            if not 0 < getattr(self, name) <= 1:
                raise InvalidSettings(f"{name} {getattr(self, name)!r} is not valid: use a number above 0 and up to 1")
        for name in ("primers_count", "recents_count", "output_token_reserve", "system_token_reserve"):
            if getattr(self, name) < 0:
                raise InvalidSettings(f"{name} {getattr(self, name)!r} is not valid: use 0 or more")
        if self.target_ratio >= self.trigger_ratio:
            raise InvalidSettings(
                f"target_ratio {self.target_ratio!r} is not valid: use less than trigger_ratio {self.trigger_ratio!r}"
            )

    def overridden(self, *layers: Mapping[str, Any]) -> Self:
        """Overrides fields by layers, of which the first takes precedence; `None` overrides nothing.

        A trigger without a target that is not above the current target sets the target to half of itself.
        """
        given: dict[str, Any] = {
            name: value for layer in reversed(layers) for name, value in layer.items() if value is not None
        }
        trigger = given.get("trigger_ratio", self.trigger_ratio)
        if "target_ratio" not in given and self.target_ratio >= trigger:
            given["target_ratio"] = trigger / 2
        return replace(self, **given)

    def window_of(self, model: str, prices: PriceBook) -> int:
        """The context window of `model` in tokens, from the price table if that lists it."""
        return window_of(model, prices.context_window(model), default=self.context_window_tokens)

    def context_budget(self, window: int | None = None, system_tokens: int = 0) -> int:
        """Tokens that history may fill: 73,142 of a 128,000 window with the defaults.

        Args:
            window: context window of the model in tokens, if known.
            system_tokens: counted tokens of system prompt and tool definitions.
        """
        window = self.context_window_tokens if window is None else window
        window = window if self.window_tokens is None else min(window, self.window_tokens)
        reserved = self.output_token_reserve + max(self.system_token_reserve, system_tokens)
        budget = max(0, share(window - reserved, self.history_token_budget_ratio))
        return budget if self.max_tokens is None else min(budget, self.max_tokens)

    @property
    def primers(self) -> int:
        """Number of primers that the strategy uses."""
        return self.primers_count if STRATEGIES[self.strategy].primers else 0

    @property
    def parameters(self) -> StrategySettings:
        """Parameters of agents' windows; all uncovered messages count as recent, unless only recents are shown."""
        return StrategySettings(
            primers_count=self.primers_count,
            recents_count=self.recents_count if self.recents_only else None,
            batch_count=self.batch_count,
            rounds=self.rounds,
            rounds_by_size=self.rounds_by_size,
            summary_by_rounds=self.summary_by_rounds and self.recents_only,
            extends=not self.recents_only,
            keeps_first_request=self.keeps_first_request,
            trigger_ratio=self.trigger_ratio,
            keep_ratio=self.keep_ratio,
            reply_reserve=self.reply_reserve,
            most_messages=self.history_window_size if self.recents_only else None,
            least_messages=self.min_messages,
            summary_most_tokens=self.summary_max_tokens,
            summary_header=self.summary_header,
            order=self._order_of_conversation,
            cut_step=0 if self.recents_only else CUT_STEP,
        )

    @property
    def _order_of_conversation(self) -> tuple[Part, ...]:
        """The order without an agent's instructions: system messages of a conversation come before its other ones."""
        moved = (Part.SYSTEM, Part.CONVERSATION)
        parts = (moved if part is Part.CONVERSATION else (part,) for part in self.order if part is not Part.SYSTEM)
        return tuple(part for placed in parts for part in placed)

    def seen(self, conversation: Conversation) -> Conversation:
        """The conversation as these settings see it: its first user message is required, or is not."""
        # Of a conversation with an omitted range, that message is included, and so it stays.
        if self.keeps_first_request or conversation.omitted is not None:
            return conversation
        return replace(conversation, keeps_first_request=False)

    def recents(self, messages: int) -> Strategy:
        """The rule by which a compression leaves the recents of a conversation of so many messages verbatim."""
        limited = StrategySettings(
            recents_count=self.recents_count,
            batch_count=self.batch_count,
            rounds_by_size=self.rounds_by_size,
            summary_by_rounds=self.summary_by_rounds,
        )
        return strategy_of(StrategyName.SUMMARY, limited, messages)

    @property
    def keep_rules(self) -> KeepRules:
        """Instructions to a model on what summaries must retain."""
        return KeepRules(self.summary_keep, self.summary_drop)

    @property
    def compresses(self) -> bool:
        """Whether compression is on."""
        return self.trigger_ratio < 1


_SAME_NAMES = (
    "primers_count", "recents_count", "batch_count", "rounds", "rounds_by_size", "summary_by_rounds",
    "keeps_first_request", "reply_reserve", "summary_header", "order",
)  # fmt: skip
_CHARACTERS_PER_TOKEN = 2.5
"""By which the system behind the preset `optimizer` counts; its lengths of summaries are in characters."""


def task_preset(preset: WindowPreset) -> Mapping[str, Any]:
    """The figures of a preset of windows as settings of a task.

    A task compresses in steps, so its summary covers what the preset cuts. Without a trigger of the preset that of the
    other layers applies, because 1.0 turns compression off.
    """
    published = preset.settings
    summarizes, triggers = STRATEGIES[preset.strategy].summarizes, published.trigger_ratio < 1
    found = {name: getattr(published, name) for name in _SAME_NAMES} | {
        "strategy": preset.strategy,
        "min_messages": published.least_messages,
        "history_window_size": published.most_messages,
        "summary_max_tokens": published.summary_most_tokens,
        "trigger_ratio": published.trigger_ratio if triggers else None,
        "target_ratio": published.keep_ratio if summarizes and triggers else None,
        "keep_ratio": None if summarizes else published.keep_ratio,
    }
    if published.summary_dynamic:
        found |= {
            "summary_ratio": LENGTH_RATIO,
            "summary_min_tokens": int(LEAST_CHARACTERS / _CHARACTERS_PER_TOKEN),
            "summary_max_tokens": int(MOST_CHARACTERS / _CHARACTERS_PER_TOKEN),
        }
    return {name: value for name, value in found.items() if value is not None}


PRESETS: Mapping[str, Mapping[str, Any]] = {
    "chat": {"primers_count": 2, "recents_count": 10, "history_window_size": 30},
    "debugging": {"primers_count": 5, "recents_count": 30, "history_window_size": 100, "trigger_ratio": 0.85},
    "long_running": {"history_window_size": 75},
    "governed": {},
    **{name: task_preset(preset) for name, preset in WINDOW_PRESETS.items()},
    # Its window never holds more than the newest 40 messages.
    "education": {**task_preset(WINDOW_PRESETS["education"]), "recents_only": True},
}
"""The context half of each use-case preset; the budget half is in `budget`."""
