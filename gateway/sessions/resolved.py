"""Context settings in effect, with the source of each."""

from dataclasses import fields
from typing import Any, Self

from purser.context.resolution import ResolvedContext
from purser.context.settings import ContextSettings
from purser.wire.base import View


class ContextValueView(View):
    """One setting of windows."""

    value: Any
    source: str
    """`request`, `session`, `user`, the name of a preset, `environment`, `file` or `default`."""


class ContextView(View):
    """Settings of windows as they are in effect, by name."""

    preset: str | None
    """The preset that applies, if any."""
    settings: dict[str, ContextValueView]

    @classmethod
    def of(cls, resolved: ResolvedContext) -> Self:
        names = (item.name for item in fields(ContextSettings))
        values = {
            name: ContextValueView(value=getattr(resolved.settings, name), source=resolved.source(name))
            for name in names
        }
        return cls(preset=resolved.preset, settings=values)
