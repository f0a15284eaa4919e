"""Window strategies: one interface for all of them, and the presets of known systems."""

from purser.context.strategies.settings import WINDOW_PRESETS, Part, Preset, StrategySettings, WindowPreset
from purser.context.strategies.strategy import STRATEGIES, Strategy, Traits, strategy_of
from purser.wire.enums import StrategyName

__all__ = [
    "STRATEGIES",
    "WINDOW_PRESETS",
    "Part",
    "Preset",
    "Strategy",
    "StrategyName",
    "StrategySettings",
    "Traits",
    "WindowPreset",
    "strategy_of",
]
