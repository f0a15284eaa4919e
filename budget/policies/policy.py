"""Policies: what a scope may spend, and the source of each field.

Fields resolve one by one: stored policy > template > request > use-case preset > environment > file > default. Where a
stored policy or a template sets a field, a request may only tighten it, and only for its own task. Where it sets a
limit, the same applies to the mode, the window and the time zone: in another window the limit would count from zero.
Where it sets a mode other than soft, the same applies to window and time zone.

A policy in shadow only records what it would have done. It never takes the force from one that applies: a template in
shadow gives nothing to a scope whose own policy binds calls, and no request turns what operators set into a shadow, be
it stored or a default mode other than soft.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from decimal import Decimal
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Self

from purser.budget.errors import InvalidPolicy
from purser.budget.policies.fields import (
    DEFAULT_BACKPRESSURE,
    DEFAULT_LEARNED_HOLDS,
    DEFAULT_WARN_AT,
    READERS,
    ApprovalRules,
    BackpressureStep,
    Mode,
    known_fields,
    stricter,
)
from purser.budget.policies.ladder import Ladder
from purser.budget.scopes import Kind
from purser.budget.windows import Window


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy with all fields resolved."""

    limit_tokens: int | None = None
    """Token limit; `None` is unlimited."""
    limit_nano_usd: int | None = None
    """Money limit in nano-dollars; `None` is unlimited."""
    mode: Mode = Mode.SOFT
    window: str = Window.LIFETIME
    """A `Window`, or the length of a rolling one: `5h`, `7d`."""
    timezone: str = "UTC"
    """IANA time zone of calendar windows."""
    warn_at: tuple[Decimal, ...] = DEFAULT_WARN_AT
    """Ratios, ascending, at which a warning event fires once per window."""
    backpressure: tuple[BackpressureStep, ...] = DEFAULT_BACKPRESSURE
    """Steps, ascending by ratio."""
    approval: ApprovalRules = field(default_factory=ApprovalRules)
    frozen: bool = False
    """A frozen scope admits nothing."""
    shadow: bool = False
    """The policy only records what it would have done with each call."""
    learned_holds: Decimal = DEFAULT_LEARNED_HOLDS
    """Of an agent: the quantile of its earlier replies that a hold covers at first. 0: the whole output cap."""
    last_answer: Decimal = Decimal(0)
    """Share of the limit of a task or an agent that only last calls may use."""
    rollover: Decimal | None = None
    """What is left of a calendar window is granted to the next, up to this share of the limit; `None`: nothing."""
    ladder: Ladder = ()
    """Steps, ascending by ratio, with which calls spend less before they ask, wait or are refused."""

    @property
    def unlimited(self) -> bool:
        """Whether the scope has no limit."""
        return self.limit_tokens is None and self.limit_nano_usd is None


@dataclass(frozen=True, slots=True)
class PolicyPatch:
    """The fields that one source sets; a field that is `None` is left to the next source."""

    limit_tokens: int | None = None
    limit_nano_usd: int | None = None
    mode: Mode | None = None
    window: str | None = None
    timezone: str | None = None
    warn_at: tuple[Decimal, ...] | None = None
    backpressure: tuple[BackpressureStep, ...] | None = None
    approval: ApprovalRules | None = None
    frozen: bool | None = None
    shadow: bool | None = None
    learned_holds: Decimal | None = None
    last_answer: Decimal | None = None
    rollover: Decimal | None = None
    ladder: Ladder | None = None

    @property
    def binds(self) -> bool:
        """Whether it sets a field that may stop calls, or says that the policy applies."""
        return self.shadow is not True and any(getattr(self, name) is not None for name in _BINDING)

    @classmethod
    def parse(cls, value: Mapping[str, Any]) -> Self:
        """Reads the body of `PUT /budgets/{scope}`; raises `InvalidPolicy`, naming the field."""
        known_fields(value, {f.name for f in fields(cls)}, "policy")
        given = {name: item for name, item in value.items() if item is not None}
        return cls(**{name: READERS[name](item) for name, item in given.items()})

    def check_kind(self, kind: Kind) -> Self:
        """Returns the patch; raises `InvalidPolicy` if a field does not apply to scopes of this kind."""
        if self.last_answer and kind not in (Kind.TASK, Kind.AGENT):
            raise InvalidPolicy(f"last_answer does not apply to a {kind}: set it for tasks and agents")
        if self.learned_holds and kind is not Kind.AGENT:
            raise InvalidPolicy(f"learned_holds does not apply to a {kind}: set it for agents")
        return self

    def to_json(self) -> dict[str, Any]:
        """The fields that are set, as plain JSON values."""
        shown: dict[str, Any] = {}
        for item in fields(self):
            value = getattr(self, item.name)
            if value is None:
                continue
            if item.name == "warn_at":
                value = [str(ratio) for ratio in value]
            elif item.name == "backpressure":
                value = [[str(step.ratio), step.delay_ms] for step in value]
            elif item.name == "ladder":
                value = [step.to_json() for step in value]
            elif item.name == "approval":
                value = value.to_json()
            shown[item.name] = str(value) if isinstance(value, StrEnum | Decimal) else value
        return shown


_BINDING = ("limit_tokens", "limit_nano_usd", "mode", "frozen", "shadow")
POLICY_FIELDS = tuple(item.name for item in fields(PolicyPatch))
"""Names of the fields of a policy."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """A policy with the source of each field."""

    policy: Policy
    sources: Mapping[str, str]
    """Field name to `stored`, `template PATTERN`, `request`, the preset's name, `environment`, `file` or `default`."""


def resolve(
    stored: PolicyPatch | None, request: PolicyPatch | None, default: Policy, sources: Mapping[str, str],
    *, template: PolicyPatch | None = None, patterns: Mapping[str, str] = MappingProxyType({}),
) -> Resolved:  # fmt: skip
    """Resolves every field of one scope's policy.

    Args:
        stored: fields that PUT or the CLI stored for this scope.
        request: fields that the task on the path requested, its preset already merged in, if any.
        default: preset, environment, file and default, already merged.
        sources: source of each field of `default`.
        template: fields from templates whose pattern matches this scope, the most specific first.
        patterns: field of `template` to its pattern.
    """
    policy, origin = default, dict(sources)
    if template and template.shadow and stored and stored.binds:
        template = None
    for name, value in _given(template).items():
        policy = replace(policy, **{name: value})
        origin[name] = f"template {patterns[name]}"
    for name, value in _given(stored).items():
        policy = replace(policy, **{name: value})
        origin[name] = "stored"
    # Only a policy says what rolls over: a task ends, and its request must not widen what others share.
    guarded = {*_given(stored), *_given(template), "rollover"}
    if guarded & {"limit_tokens", "limit_nano_usd"}:
        guarded |= {"mode", "window", "timezone"}
    if "mode" in guarded and policy.mode is not Mode.SOFT:
        guarded |= {"window", "timezone"}
    if guarded.intersection(_BINDING) or default.mode is not Mode.SOFT:
        guarded.add("shadow")
    for name, asked in _given(request).items():
        current = getattr(policy, name)
        if name not in guarded or _tighter(name, asked, current):
            policy = replace(policy, **{name: asked})
            origin[name] = "request"
    return Resolved(policy, origin)


def _given(patch: PolicyPatch | None) -> dict[str, Any]:
    return {f.name: value for f in fields(PolicyPatch) if (value := getattr(patch, f.name, None)) is not None}


def _tighter(name: str, asked: Any, current: Any) -> bool:
    match name:
        case "limit_tokens" | "limit_nano_usd":
            return current is None or bool(asked < current)
        case "mode":
            return asked is not current and stricter(asked, current) is asked
        case "frozen":
            return bool(asked)
        case "shadow":
            return not asked
        case "learned_holds":
            return bool(current > 0 and (asked == 0 or asked > current))
    return False


PRESETS: Mapping[str, Mapping[Kind, PolicyPatch]] = {
    "chat": {Kind.AGENT: PolicyPatch(limit_tokens=25_000)},
    "debugging": {Kind.AGENT: PolicyPatch(limit_tokens=75_000)},
    "long_running": {Kind.TASK: PolicyPatch(limit_tokens=300_000)},
    "governed": {kind: PolicyPatch(mode=Mode.APPROVAL) for kind in (Kind.SESSION, Kind.TASK, Kind.AGENT)},
}
"""The budget part of each use-case preset; the context part is in `purser.context`."""
