"""The settings of windows with their sources, which the pages of sessions and tasks share."""

import json
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from purser.gateway.dashboard.components import render
from purser.wire.windows import ContextView


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting in words."""

    name: str
    value: str
    source: str


def context_settings(context: ContextView | None) -> Markup:
    """The settings of windows, those that someone set first; nothing for a task whose file was deleted."""
    if context is None:
        return Markup()
    settings = [Setting(name, _text(one.value), one.source) for name, one in context.settings.items()]
    return render("context.html", settings=settings, preset=context.preset)


def _text(value: Any) -> str:
    match value:
        case None | "" | [] | ():
            return "—"
        case str():
            return value
    return json.dumps(value, ensure_ascii=False, default=str)
