"""Resolution of context settings: one precedence for all figures, and the source of each value.

Request, session, user, preset, environment, file, default: the first that sets a figure wins.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from purser.context.settings import PRESETS, ContextSettings

REQUEST, SESSION, USER = "request", "session", "user"
DEFAULT = "default"
_NOTHING: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class ResolvedContext:
    """Context settings with the source of each figure."""

    settings: ContextSettings = field(default_factory=ContextSettings)
    sources: Mapping[str, str] = field(default_factory=dict)
    """`request`, `session`, `user`, the name of a preset, `environment` or `file`; other figures are defaults."""
    preset: str | None = None
    """The preset that applies, if any."""

    def source(self, name: str) -> str:
        """Source of a figure."""
        return self.sources.get(name, DEFAULT)


def resolve(
    base: ResolvedContext | None = None,
    *,
    request: Mapping[str, Any] = _NOTHING,
    session: Mapping[str, Any] = _NOTHING,
    user: Mapping[str, Any] = _NOTHING,
    use_case_preset: str | None = None,
) -> ResolvedContext:
    """Resolves every figure by the precedence of this module.

    If trigger and target of different layers contradict each other, the one of the upper layer brings the other: a
    trigger sets the target to half of itself, a target sets the trigger to the middle between itself and 1.

    Args:
        base: settings of the process, with the sources `environment` and `file`.
        request, session, user: figures by name, as `Figures.given`; `preset` names a preset.
        use_case_preset: preset of the request for budgets and context; `preset` of the request precedes it.

    Raises:
        InvalidSettings: figures of one layer contradict one another.
    """
    base = base or ResolvedContext()
    named = (request.get("preset"), use_case_preset, session.get("preset"), user.get("preset"), base.preset)
    preset = next(filter(None, named), None)
    layers = ((REQUEST, request), (SESSION, session), (USER, user), (preset or "", PRESETS.get(preset or "", _NOTHING)))
    figures: dict[str, Any] = {}
    sources = dict(base.sources)
    for source, layer in reversed(layers):
        given = {name: value for name, value in layer.items() if value is not None and name != "preset"}
        figures |= given
        sources |= dict.fromkeys(given, source)
    trigger = figures.get("trigger_ratio", base.settings.trigger_ratio)
    target = figures.get("target_ratio", base.settings.target_ratio)
    of_trigger, of_target = sources.get("trigger_ratio", DEFAULT), sources.get("target_ratio", DEFAULT)
    if target >= trigger and of_target != of_trigger:
        order = [*(source for source, _ in layers), "environment", "file", DEFAULT]
        if order.index(of_trigger) < order.index(of_target):
            figures["target_ratio"], sources["target_ratio"] = trigger / 2, of_trigger
        else:
            figures["trigger_ratio"], sources["trigger_ratio"] = (1 + target) / 2, of_target
    return ResolvedContext(base.settings.overridden(figures), sources, preset)
