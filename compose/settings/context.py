"""Context settings, built from the settings of the process."""

from collections.abc import Mapping
from dataclasses import fields

from purser.compose.settings.model import Settings
from purser.context.resolution import ResolvedContext
from purser.context.settings import ContextSettings
from purser.wire.enums import Summarizer

_NAMES: Mapping[str, str] = {
    "trigger_ratio": "compression_trigger_ratio",
    "target_ratio": "compression_target_ratio",
    "history_window_size": "history_window_messages",
    "order": "window_order",
    "max_tokens": "max_context_tokens",
    "model": "default_model",
}
"""Settings of the process by figure, if their names differ."""
_NO_SETTING = {"window_tokens"}
"""Figures that only requests, sessions and users set."""


def context_settings(settings: Settings) -> ContextSettings:
    """The default context settings of agents; requests, sessions, users and presets override them."""
    given = {name: getattr(settings, setting) for name, setting in _settings()}
    if settings.summarizer == Summarizer.NONE:
        # A trigger of 1.0 is off.
        given["trigger_ratio"] = 1.0
    return ContextSettings(**given)


def resolved_context(settings: Settings) -> ResolvedContext:
    """The default context settings with the source of each."""
    sources = {name: settings.source(setting) for name, setting in _settings()}
    return ResolvedContext(
        context_settings(settings),
        {name: source for name, source in sources.items() if source != "default"},
        settings.context_preset,
    )


def _settings() -> list[tuple[str, str]]:
    """Each figure and its setting."""
    names = (item.name for item in fields(ContextSettings) if item.name not in _NO_SETTING)
    return [(name, _NAMES.get(name, name)) for name in names]
