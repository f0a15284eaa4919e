"""Policies: what a scope may spend, and the source of each field.

Fields resolve one by one: stored policy > request > use-case preset > environment > file > default. Where a stored
policy sets a field, a request may only tighten it, and only for its own task. Where it sets a limit, the same applies
to the mode, the window and the time zone: in another window the limit would count from zero.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from decimal import Decimal
from enum import StrEnum
from typing import Any, Self, TypeVar

from purser.budget.errors import InvalidPolicy
from purser.budget.scopes import Kind
from purser.budget.windows import Window, zone

E = TypeVar("E", bound=StrEnum)

MAX_AMOUNT = 2**53 - 1
"""Largest token or nano-dollar amount: exact in every JSON reader, and far below what a balance can hold."""
MAX_DELAY_MS = 3_600_000
"""Longest backpressure step: one hour."""
MAX_DEADLINE_S = 366 * 86_400
"""Longest wait for an approval: a year."""


class Mode(StrEnum):
    """What happens when an ask does not fit."""

    SOFT = "soft"
    """Warn and go on."""
    APPROVAL = "approval"
    """Ask a person."""
    HARD = "hard"
    """Refuse."""


_STRICTNESS = {Mode.SOFT: 0, Mode.APPROVAL: 1, Mode.HARD: 2}


class OnExpiry(StrEnum):
    """What happens to an undecided approval request at its deadline."""

    DENY = "deny"
    GRANT = "grant"


@dataclass(frozen=True, slots=True)
class BackpressureStep:
    """From `ratio` on, wait `delay_ms` before the call."""

    ratio: Decimal
    """Lower bound, inclusive."""
    delay_ms: int
    """Milliseconds."""


DEFAULT_BACKPRESSURE = tuple(
    BackpressureStep(Decimal(ratio), delay)
    for ratio, delay in (("0.80", 50), ("0.85", 300), ("0.90", 750), ("0.95", 1_500), ("1.00", 5_000))
)
DEFAULT_WARN_AT = (Decimal("0.8"),)
MAX_STEPS = 50
"""Most warning ratios, and most backpressure steps, of one policy."""
DECIDING_ROLES = ("approver", "admin")
"""Roles of keys that may decide approval requests. A policy that names only others could never be satisfied."""


@dataclass(frozen=True, slots=True)
class ApprovalRules:
    """Who may approve an overspend, and by when."""

    roles: tuple[str, ...] = DECIDING_ROLES
    """Roles that may decide."""
    not_submitter: bool = False
    """Bars the person who submitted the task from deciding."""
    two_people_above_tokens: int | None = None
    """Grants above this many tokens need two different people; `None`: never."""
    deadline_s: int = 1_800
    """Seconds from the request to its expiry."""
    on_expiry: OnExpiry = OnExpiry.DENY
    """What happens to a request that is undecided at its deadline."""

    @classmethod
    def parse(cls, value: Mapping[str, Any]) -> Self:
        """Reads the `approval` object of a policy; raises `InvalidPolicy`."""
        _known(value, {f.name for f in fields(cls)}, "approval")
        parsed: dict[str, Any] = {}
        if (roles := value.get("roles")) is not None:
            parsed["roles"] = _roles(roles)
        if (flag := value.get("not_submitter")) is not None:
            if not isinstance(flag, bool):
                raise InvalidPolicy(f"approval.not_submitter {flag!r} is not valid: use true or false")
            parsed["not_submitter"] = flag
        if (above := value.get("two_people_above_tokens")) is not None:
            parsed["two_people_above_tokens"] = check_amount(above, "approval.two_people_above_tokens")
        if (deadline := value.get("deadline_s")) is not None:
            parsed["deadline_s"] = check_amount(deadline, "approval.deadline_s", least=1, most=MAX_DEADLINE_S)
        if (on_expiry := value.get("on_expiry")) is not None:
            parsed["on_expiry"] = _member(OnExpiry, on_expiry, "approval.on_expiry")
        return cls(**parsed)

    def to_json(self) -> dict[str, Any]:
        """The `approval` object, as the API returns and SQL stores it."""
        return {
            "roles": list(self.roles),
            "not_submitter": self.not_submitter,
            "two_people_above_tokens": self.two_people_above_tokens,
            "deadline_s": self.deadline_s,
            "on_expiry": str(self.on_expiry),
        }


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy with all fields resolved."""

    limit_tokens: int | None = None
    """Token limit; `None` is unlimited."""
    limit_nano_usd: int | None = None
    """Money limit in nano-dollars; `None` is unlimited."""
    mode: Mode = Mode.SOFT
    window: Window = Window.LIFETIME
    timezone: str = "UTC"
    """IANA time zone of calendar windows."""
    warn_at: tuple[Decimal, ...] = DEFAULT_WARN_AT
    """Ratios, ascending, at which a warning event fires once per window."""
    backpressure: tuple[BackpressureStep, ...] = DEFAULT_BACKPRESSURE
    """Steps, ascending by ratio."""
    approval: ApprovalRules = field(default_factory=ApprovalRules)
    frozen: bool = False
    """A frozen scope admits nothing."""

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
    window: Window | None = None
    timezone: str | None = None
    warn_at: tuple[Decimal, ...] | None = None
    backpressure: tuple[BackpressureStep, ...] | None = None
    approval: ApprovalRules | None = None
    frozen: bool | None = None

    @classmethod
    def parse(cls, value: Mapping[str, Any]) -> Self:
        """Reads the body of `PUT /budgets/{scope}`; raises `InvalidPolicy`, naming the field."""
        _known(value, {f.name for f in fields(cls)}, "policy")
        given = {name: item for name, item in value.items() if item is not None}
        return cls(**{name: _READERS[name](item) for name, item in given.items()})

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
            elif item.name == "approval":
                value = value.to_json()
            shown[item.name] = str(value) if isinstance(value, StrEnum) else value
        return shown


@dataclass(frozen=True, slots=True)
class Resolved:
    """A policy with the source of each field."""

    policy: Policy
    sources: Mapping[str, str]
    """Field name to `stored`, `request`, the preset's name, `environment`, `file` or `default`."""


def stricter(one: Mode, other: Mode) -> Mode:
    """The stricter of two modes: hard, then approval, then soft."""
    return max(one, other, key=_STRICTNESS.__getitem__)


def resolve(
    stored: PolicyPatch | None, request: PolicyPatch | None, default: Policy, sources: Mapping[str, str]
) -> Resolved:
    """Resolves every field of one scope's policy.

    Args:
        stored: fields that PUT or the CLI stored for this scope.
        request: fields that the task on the path requested, its preset already merged in, if any.
        default: preset, environment, file and default, already merged.
        sources: source of each field of `default`.
    """
    policy, origin = default, dict(sources)
    for name, value in _given(stored).items():
        policy = replace(policy, **{name: value})
        origin[name] = "stored"
    guarded = set(_given(stored))
    if guarded & {"limit_tokens", "limit_nano_usd"}:
        guarded |= {"mode", "window", "timezone"}
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
    return False


PRESETS: Mapping[str, Mapping[Kind, PolicyPatch]] = {
    "chat": {Kind.AGENT: PolicyPatch(limit_tokens=25_000)},
    "debugging": {Kind.AGENT: PolicyPatch(limit_tokens=75_000)},
    "long_running": {Kind.TASK: PolicyPatch(limit_tokens=300_000)},
    "governed": {kind: PolicyPatch(mode=Mode.APPROVAL) for kind in (Kind.SESSION, Kind.TASK, Kind.AGENT)},
}
"""The budget part of each use-case preset; the context part is in `purser.context`."""


def check_amount(value: object, name: str, *, least: int = 0, most: int = MAX_AMOUNT) -> int:
    """Returns `value` if it is an integer in range; otherwise raises `InvalidPolicy`, naming the field."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InvalidPolicy(f"{name} {value!r} is not valid: use a whole number from {least} to {most}")
    return value


def _roles(value: Any) -> tuple[str, ...]:
    unknown = [role for role in value if role not in DECIDING_ROLES] if isinstance(value, list | tuple) else [value]
    if unknown or not value:
        named = f"names {str(unknown[0])[:40]!r}" if unknown else "is empty"
        raise InvalidPolicy(f"approval.roles {named}: list one or both of {', '.join(DECIDING_ROLES)}")
    return tuple(role for role in DECIDING_ROLES if role in value)


def _known(value: Mapping[str, Any], names: set[str], what: str) -> None:
    if not isinstance(value, Mapping):
        raise InvalidPolicy(f"{what} {value!r} is not valid: give an object")
    if unknown := sorted(set(value) - names):
        raise InvalidPolicy(f"{what} has the unknown field {unknown[0]!r}: use one of {', '.join(sorted(names))}")


def _member(kind: type[E], value: object, name: str) -> E:
    try:
        return kind(str(value)) if isinstance(value, str) else kind("")
    except ValueError:
        raise InvalidPolicy(f"{name} {value!r} is not valid: use one of {', '.join(kind)}") from None


def read_ratio(value: object, name: str) -> Decimal:
    """Returns a ratio as an exact decimal with at most six decimals; raises `InvalidPolicy`."""
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
        raise InvalidPolicy(f"{name} {value!r} is not valid: use a number such as 0.8")
    try:
        ratio = Decimal(str(value))
    except ArithmeticError:
        ratio = Decimal("NaN")
    if not ratio.is_finite() or not 0 < ratio <= 100 or ratio != round(ratio, 6):
        raise InvalidPolicy(
            f"{name} {value!r} is not valid: use a number above 0 with at most six decimals, for example 0.8"
        )
    return ratio


def _list(value: object, name: str, items: str) -> Sequence[Any]:
    if not isinstance(value, list | tuple):
        raise InvalidPolicy(f"{name} {str(value)[:80]} is not valid: give a list of {items}")
    if len(value) > MAX_STEPS:
        raise InvalidPolicy(f"{name} has {len(value)} items: give at most {MAX_STEPS}")
    return value


def _read_warn_at(value: object) -> tuple[Decimal, ...]:
    ratios = _list(value, "warn_at", "ratios, for example [0.8, 0.95]")
    return tuple(sorted({read_ratio(item, "warn_at") for item in ratios}))


def _read_backpressure(value: object) -> tuple[BackpressureStep, ...]:
    steps = []
    for item in _list(value, "backpressure", "[ratio, delay_ms] pairs"):
        if isinstance(item, Mapping):
            _known(item, {"ratio", "delay_ms"}, "backpressure step")
            item = (item.get("ratio"), item.get("delay_ms"))
        if not isinstance(item, list | tuple) or len(item) != 2:
            raise InvalidPolicy(f"backpressure step {item!r} is not valid: give [ratio, delay_ms]")
        delay = check_amount(item[1], "backpressure delay_ms", most=MAX_DELAY_MS)
        steps.append(BackpressureStep(read_ratio(item[0], "backpressure ratio"), delay))
    return tuple(sorted(steps, key=lambda step: step.ratio))


def _read_flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise InvalidPolicy(f"frozen {value!r} is not valid: use true or false")
    return value


def _read_zone(value: object) -> str:
    if not isinstance(value, str):
        raise InvalidPolicy(f"timezone {value!r} is not valid: use an IANA name such as Europe/Berlin")
    return zone(value).key


_READERS: Mapping[str, Any] = {
    "limit_tokens": lambda value: check_amount(value, "limit_tokens"),
    "limit_nano_usd": lambda value: check_amount(value, "limit_nano_usd"),
    "mode": lambda value: _member(Mode, value, "mode"),
    "window": lambda value: _member(Window, value, "window"),
    "timezone": _read_zone,
    "warn_at": _read_warn_at,
    "backpressure": _read_backpressure,
    "approval": lambda value: value if isinstance(value, ApprovalRules) else ApprovalRules.parse(value),
    "frozen": _read_flag,
}
