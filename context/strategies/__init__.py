"""How windows are cut: one interface for all strategies, and the presets of known systems."""

from context.strategies.names import StrategyName
from context.strategies.settings import WINDOW_PRESETS, Part, StrategySettings, WindowPreset
from context.strategies.strategy import STRATEGIES, Strategy, Traits, strategy_of

__all__ = [
    "STRATEGIES",
    "WINDOW_PRESETS",
    "Part",
    "Strategy",
    "StrategyName",
    "StrategySettings",
    "Traits",
    "WindowPreset",
    "strategy_of",
]
