"""The fields of policies: their types, bounds and defaults, and how each is read."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from enum import StrEnum
from typing import Any, Self, TypeVar

from purser.budget.errors import InvalidPolicy
from purser.budget.policies.ladder import read_ladder
from purser.budget.windows import read_window, zone
from purser.wire.enums import Mode as Mode
from purser.wire.enums import OnExpiry as OnExpiry
from purser.wire.limits import MAX_AMOUNT

E = TypeVar("E", bound=StrEnum)
MAX_DELAY_MS = 3_600_000
"""Longest backpressure step: one hour."""
DEFAULT_DEADLINE_S = 1_800
MAX_DEADLINE_S = 366 * 86_400
"""Longest wait for an approval: a year."""
_STRICTNESS = {Mode.SOFT: 0, Mode.APPROVAL: 1, Mode.HARD: 2}


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
DEFAULT_LEARNED_HOLDS = Decimal(0)
MAX_STEPS = 50
"""Most warning ratios, and most backpressure steps, of one policy."""
MOST_LAST_ANSWER = Decimal("0.9")
"""Largest share of a limit that last calls may keep from the others."""
DECIDING_ROLES = ("approver", "admin")
"""Roles of keys that may decide approval requests. A policy that names only others could never be satisfied."""
DEPUTY = "deputy"
"""Role of keys that may decide a request once it is escalated, whatever roles its policy names."""


@dataclass(frozen=True, slots=True)
class ApprovalRules:
    """Who may approve an overspend, and by when."""

    roles: tuple[str, ...] = DECIDING_ROLES
    """Roles that may decide."""
    not_submitter: bool = False
    """Bars the person who submitted the task from deciding."""
    two_people_above_tokens: int | None = None
    """Grants above this many tokens need two different people; `None`: never."""
    two_people_above_nano_usd: int | None = None
    """Grants above this much money, in nano-dollars, need two different people too; `None`: never."""
    deadline_s: int = DEFAULT_DEADLINE_S
    """Seconds from the request to its expiry."""
    on_expiry: OnExpiry = OnExpiry.DENY
    """What happens to a request that is undecided at its deadline."""
    remind_s: int | None = None
    """Seconds before the deadline at which a reminder is sent; `None`: none is."""
    escalate_s: int | None = None
    """Seconds before the deadline at which deputies may decide too; `None`: they never may."""

    @classmethod
    def parse(cls, value: Mapping[str, Any]) -> Self:
        """Reads the `approval` object of a policy; raises `InvalidPolicy`."""
        known_fields(value, {f.name for f in fields(cls)}, "approval")
        parsed: dict[str, Any] = {}
        if (roles := value.get("roles")) is not None:
            parsed["roles"] = _roles(roles)
        if (flag := value.get("not_submitter")) is not None:
            parsed["not_submitter"] = _read_flag(flag, "approval.not_submitter")
        for name in ("two_people_above_tokens", "two_people_above_nano_usd"):
            if (above := value.get(name)) is not None:
                parsed[name] = check_amount(above, f"approval.{name}")
        if (deadline := value.get("deadline_s")) is not None:
            parsed["deadline_s"] = check_amount(deadline, "approval.deadline_s", least=1, most=MAX_DEADLINE_S)
        if (on_expiry := value.get("on_expiry")) is not None:
            parsed["on_expiry"] = _member(OnExpiry, on_expiry, "approval.on_expiry")
        deadline_s = parsed.get("deadline_s", DEFAULT_DEADLINE_S)
        for name in ("remind_s", "escalate_s"):
            if (lead := value.get(name)) is not None:
                parsed[name] = _before_deadline(lead, f"approval.{name}", deadline_s)
        return cls(**parsed)

    def to_json(self) -> dict[str, Any]:
        """The `approval` object, as the API returns and SQL stores it."""
        return {
            "roles": list(self.roles),
            "not_submitter": self.not_submitter,
            "two_people_above_tokens": self.two_people_above_tokens,
            "two_people_above_nano_usd": self.two_people_above_nano_usd,
            "deadline_s": self.deadline_s,
            "on_expiry": str(self.on_expiry),
            "remind_s": self.remind_s,
            "escalate_s": self.escalate_s,
        }


def stricter(one: Mode, other: Mode) -> Mode:
    """The stricter of two modes: hard, then approval, then soft."""
    return max(one, other, key=_STRICTNESS.__getitem__)


def check_amount(value: object, name: str, *, least: int = 0, most: int = MAX_AMOUNT) -> int:
    """Returns `value` if it is an integer in range; otherwise raises `InvalidPolicy`, naming the field."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InvalidPolicy(f"{name} {value!r} is not valid: use a whole number from {least} to {most}")
    return value


def _before_deadline(lead: object, name: str, deadline_s: int) -> int:
    if deadline_s < 2:
        raise InvalidPolicy(f"{name} does not apply to a deadline of {deadline_s} s: leave it out")
    return check_amount(lead, name, least=1, most=deadline_s - 1)


def _roles(value: Any) -> tuple[str, ...]:
    unknown = [role for role in value if role not in DECIDING_ROLES] if isinstance(value, list | tuple) else [value]
    if unknown or not value:
        named = f"names {str(unknown[0])[:40]!r}" if unknown else "is empty"
        raise InvalidPolicy(f"approval.roles {named}: list one or both of {', '.join(DECIDING_ROLES)}")
    return tuple(role for role in DECIDING_ROLES if role in value)


def known_fields(value: Mapping[str, Any], names: set[str], what: str) -> None:
    if not isinstance(value, Mapping):
        raise InvalidPolicy(f"{what} {value!r} is not valid: give an object")
    if unknown := sorted(set(value) - names):
        raise InvalidPolicy(f"{what} has the unknown field {unknown[0]!r}: use one of {', '.join(sorted(names))}")


def _member(kind: type[E], value: Any, name: str) -> E:
    try:
        return kind(value)
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


def _read_none_or_ratio(value: object, name: str) -> Decimal:
    """Reads a ratio that may also be 0, which means none."""
    none = not isinstance(value, bool) and re.fullmatch(r"0(\.0+)?", str(value)) is not None
    return Decimal(0) if none else read_ratio(value, name)


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
            known_fields(item, {"ratio", "delay_ms"}, "backpressure step")
            item = (item.get("ratio"), item.get("delay_ms"))
        if not isinstance(item, list | tuple) or len(item) != 2:
            raise InvalidPolicy(f"backpressure step {item!r} is not valid: give [ratio, delay_ms]")
        delay = check_amount(item[1], "backpressure delay_ms", most=MAX_DELAY_MS)
        steps.append(BackpressureStep(read_ratio(item[0], "backpressure ratio"), delay))
    return tuple(sorted(steps, key=lambda step: step.ratio))


def _read_flag(value: object, name: str) -> bool:
    if not isinstance(value, bool):
        raise InvalidPolicy(f"{name} {value!r} is not valid: use true or false")
    return value


def _read_last_answer(value: object) -> Decimal:
    share = _read_none_or_ratio(value, "last_answer")
    if share > MOST_LAST_ANSWER:
        raise InvalidPolicy(f"last_answer {value!r} is not valid: use a share from 0 to {MOST_LAST_ANSWER}")
    return share


def _read_window(value: object) -> str:
    return read_window(value if isinstance(value, str) else repr(value))


def read_quantile(value: object) -> Decimal:
    """Returns the quantile of learned holds; raises `InvalidPolicy`."""
    quantile = _read_none_or_ratio(value, "learned_holds")
    if quantile >= 1:
        raise InvalidPolicy(f"learned_holds {value!r} is not valid: use a number below 1, or 0 to hold the whole cap")
    return quantile


def _read_rollover(value: object) -> Decimal:
    share = _read_none_or_ratio(value, "rollover")
    if share > 1:
        raise InvalidPolicy(f"rollover {value!r} is not valid: use a share of the limit from 0 to 1")
    return share


def _read_zone(value: object) -> str:
    if not isinstance(value, str):
        raise InvalidPolicy(f"timezone {value!r} is not valid: use an IANA name such as Europe/Berlin")
    return zone(value).key


READERS: Mapping[str, Any] = {
    "limit_tokens": lambda value: check_amount(value, "limit_tokens"),
    "limit_nano_usd": lambda value: check_amount(value, "limit_nano_usd"),
    "mode": lambda value: _member(Mode, value, "mode"),
    "window": _read_window,
    "timezone": _read_zone,
    "warn_at": _read_warn_at,
    "backpressure": _read_backpressure,
    "approval": lambda value: value if isinstance(value, ApprovalRules) else ApprovalRules.parse(value),
    "frozen": lambda value: _read_flag(value, "frozen"),
    "shadow": lambda value: _read_flag(value, "shadow"),
    "learned_holds": read_quantile,
    "last_answer": _read_last_answer,
    "rollover": _read_rollover,
    "ladder": read_ladder,
}
