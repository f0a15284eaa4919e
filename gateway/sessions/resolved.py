"""Context settings in effect, with the source of each."""

from dataclasses import fields

from purser.context.resolution import ResolvedContext
from purser.context.settings import ContextSettings
from purser.wire.windows import ContextValueView, ContextView


def context_view(resolved: ResolvedContext) -> ContextView:
    """Settings of windows as they are in effect, by name."""
    values = {
        item.name: ContextValueView(value=getattr(resolved.settings, item.name), source=resolved.source(item.name))
        for item in fields(ContextSettings)
    }
    return ContextView(preset=resolved.preset, settings=values)
