"""Burn rate and time to exhaustion of a scope, from samples of what it had spent.

SQL applies the same rule to all scopes at once (`ledger_exhausting` in `schema/reports/reports.sql`); a
property test compares the two.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from purser.budget.gate import Amount
from purser.wire.enums import Basis as Basis

HOUR = timedelta(hours=1)
DAY = timedelta(hours=24)
LEAST_HISTORY = timedelta(seconds=60)
"""Over less than this, a rate would describe one call rather than the scope."""


@dataclass(frozen=True, slots=True)
class Point:
    """What a balance had spent at a point in time."""

    at: datetime
    spent: Amount


@dataclass(frozen=True, slots=True)
class Forecast:
    """How fast a scope spends, and when its budget is exhausted at that rate. An estimate, not a promise."""

    tokens_per_hour: int | None = None
    """The higher of the rates of the last hour and the last day, rounded up; `None` with `too_short`."""
    nano_usd_per_hour: int | None = None
    exhausts_at: datetime | None = None
    """`None` if there is no limit, nothing was spent within the last hour, or the window renews before."""
    basis: Basis = Basis.TOO_SHORT
    """Basis of the unit that is exhausted first; without a limit, that of tokens."""

    def to_json(self) -> dict[str, Any]:
        """The JSON field `forecast` of a budget or an approval."""
        return {
            "tokens_per_hour": self.tokens_per_hour,
            "nano_usd_per_hour": self.nano_usd_per_hour,
            "exhausts_at": self.exhausts_at,
            "basis": str(self.basis),
        }


@dataclass(frozen=True, slots=True)
class _Rate:
    spent: int
    over: timedelta
    basis: Basis

    @property
    def per_hour(self) -> int:
        return -(-self.spent * _us(HOUR) // _us(self.over))

    def lasts(self, headroom: int) -> timedelta | None:
        """How long `headroom` lasts; `None` if it lasts forever."""
        if self.spent == 0:
            return None
        try:
            return timedelta(microseconds=max(0, headroom) * _us(self.over) // self.spent)
        except OverflowError:
            return None

    def is_higher(self, other: "_Rate") -> bool:
        return self.spent * _us(other.over) > other.spent * _us(self.over)


def forecast(
    history: Sequence[Point], headroom_tokens: int | None, headroom_nano_usd: int | None, window_end: datetime | None
) -> Forecast:
    """Computes the forecast of one balance.

    Args:
        history: what it had spent, oldest first; the last point is now. The first one counts as the beginning of the
            window, unless it is older than a day.
        headroom_tokens: tokens left, not counting what is held; `None`: unlimited.
        headroom_nano_usd: nano-dollars left, not counting what is held; `None`: unlimited.
        window_end: when the window renews; `None` for a lifetime.
    """
    if len(history) < 2 or history[-1].at - history[0].at < LEAST_HISTORY:
        return Forecast()
    now = history[-1].at
    tokens, nano_usd = _rate(history, "tokens"), _rate(history, "nano_usd")
    # An idle scope is not exhausted: the rate of a day would forecast the end of work that ended hours ago.
    ends = [
        (lasts, rate)
        for unit, rate, headroom in (("tokens", tokens, headroom_tokens), ("nano_usd", nano_usd, headroom_nano_usd))
        if headroom is not None
        and _over(history, unit, HOUR, Basis.HOUR).spent > 0
        and (lasts := rate.lasts(headroom)) is not None
    ]
    lasts, first = min(ends, key=lambda end: end[0], default=(None, tokens))
    return Forecast(tokens.per_hour, nano_usd.per_hour, _end(now, lasts, window_end), first.basis)


def spent_at(history: Sequence[Point], at: datetime, unit: str) -> int:
    """What was spent at a time within `history`, interpolated linearly between two points, in whole units."""
    for before, after in pairwise(history):
        if before.at <= at < after.at:
            begun, change = getattr(before.spent, unit), getattr(after.spent, unit) - getattr(before.spent, unit)
            part = abs(change) * _us(at - before.at) // _us(after.at - before.at)
            return int(begun + (part if change >= 0 else -part))
    return int(getattr(history[-1].spent, unit))


def _rate(history: Sequence[Point], unit: str) -> _Rate:
    """The higher of both rates, at least 0: a correction may lower what was spent."""
    last_hour, last_day = _over(history, unit, HOUR, Basis.HOUR), _over(history, unit, DAY, Basis.DAY)
    return last_day if last_day.is_higher(last_hour) else last_hour


def _over(history: Sequence[Point], unit: str, span: timedelta, basis: Basis) -> _Rate:
    first, last = history[0], history[-1]
    spent = getattr(last.spent, unit)
    if first.at > last.at - span:
        return _Rate(max(0, spent - getattr(first.spent, unit)), last.at - first.at, Basis.SINCE_FIRST)
    return _Rate(max(0, spent - spent_at(history, last.at - span, unit)), span, basis)


def _end(now: datetime, lasts: timedelta | None, window_end: datetime | None) -> datetime | None:
    if lasts is None:
        return None
    try:
        end = now + lasts
    except OverflowError:
        return None
    return None if window_end is not None and end >= window_end else end


def _us(span: timedelta) -> int:
    return span // timedelta(microseconds=1)
