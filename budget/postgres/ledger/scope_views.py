"""Converts the scopes that SQL read at the gate into `ScopeView`s."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any

from purser.budget.gate import NOTHING, Amount, ScopeView
from purser.budget.policies.fields import BackpressureStep, Mode, read_ratio
from purser.budget.policies.ladder import read_ladder
from purser.budget.scopes import Scope

REMEMBERED = 1_000


def views_of(shown: Sequence[Mapping[str, Any]], backpressure: Sequence[BackpressureStep]) -> list[ScopeView]:
    """Reads the JSON of `ledger_views`; scopes without their own backpressure steps get `backpressure`.

    The amount that the asking hold itself holds (`own`) counts as spent: waiting would not free it. Where a policy only
    records, SQL applies no mode and no freeze, and `shadow` has those of the policy.
    """
    return [_view(scope, backpressure) for scope in shown]


def _view(shown: Mapping[str, Any], backpressure: Sequence[BackpressureStep]) -> ScopeView:
    steps, start = shown["backpressure"], shown["window_start"]
    if steps is not None:
        backpressure = tuple(BackpressureStep(read_ratio(ratio, "backpressure ratio"), delay) for ratio, delay in steps)
    spent, held = Amount(*shown["spent"]), Amount(*shown["held"])
    if "own" in shown:
        own = Amount(*shown["own"])
        spent, held = spent + own, held - own
    shadow = shown.get("shadow")
    named = shadow or shown
    return ScopeView(
        scope=Scope.stored(shown["scope"]),
        mode=Mode(named["mode"]),
        limit_tokens=shown["limit"][0],
        limit_nano_usd=shown["limit"][1],
        spent=spent,
        held=held,
        granted=Amount(*shown["granted"]),
        window_start=None if start is None else datetime.fromisoformat(start),
        frozen=named["frozen"],
        shadow=shadow is not None,
        queued=shown["queued"],
        warn_at=_warn_at(tuple(shown["warn_at"])),
        backpressure=backpressure,
        reserve=Amount(*shown["reserve"]) if "reserve" in shown else NOTHING,
        last_of=shown.get("last_of", 0),
        ladder=read_ladder(shown["ladder"]) if "ladder" in shown else (),
    )


@lru_cache(REMEMBERED)
def _warn_at(ratios: tuple[float, ...]) -> tuple[Decimal, ...]:
    return tuple(read_ratio(ratio, "warn_at") for ratio in ratios)
