"""Context settings, built from the settings of the process."""

from purser.compose.settings.model import Settings
from purser.context.settings import ContextSettings

NEVER = "none"
"""Value of `summarizer` that turns compression off."""


def context_settings(settings: Settings) -> ContextSettings:
    """The default context settings of agents; use-case presets and requests override them."""
    return ContextSettings(
        context_window_tokens=settings.context_window_tokens,
        output_token_reserve=settings.output_token_reserve,
        system_token_reserve=settings.system_token_reserve,
        history_token_budget_ratio=settings.history_token_budget_ratio,
        # A trigger of 1.0 is off.
        trigger_ratio=1.0 if settings.summarizer == NEVER else settings.compression_trigger_ratio,
        target_ratio=settings.compression_target_ratio,
        primers_count=settings.primers_count,
        recents_count=settings.recents_count,
        history_window_size=settings.history_window_messages,
        summary_keep=settings.summary_keep,
        summary_drop=settings.summary_drop,
    )
