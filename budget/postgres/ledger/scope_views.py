"""Converts the scopes that SQL read at the gate into `ScopeView`s."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from purser.budget.gate import Amount, ScopeView
from purser.budget.policies import BackpressureStep, Mode, read_ratio
from purser.budget.scopes import Scope


def views_of(shown: Sequence[Mapping[str, Any]], backpressure: Sequence[BackpressureStep]) -> list[ScopeView]:
    """Reads the JSON of `ledger_views`; scopes without their own backpressure steps get `backpressure`.

    The amount that the asking hold itself holds (`own`) counts as spent: waiting would not free it.
    """
    return [_view(scope, backpressure) for scope in shown]


def _view(shown: Mapping[str, Any], backpressure: Sequence[BackpressureStep]) -> ScopeView:
    steps, start = shown["backpressure"], shown["window_start"]
    if steps is not None:
        backpressure = [BackpressureStep(read_ratio(ratio, "backpressure ratio"), delay) for ratio, delay in steps]
    own = Amount(*shown.get("own", (0, 0)))
    return ScopeView(
        scope=Scope.stored(shown["scope"]),
        mode=Mode(shown["mode"]),
        limit_tokens=shown["limit"][0],
        limit_nano_usd=shown["limit"][1],
        spent=Amount(*shown["spent"]) + own,
        held=Amount(*shown["held"]) - own,
        granted=Amount(*shown["granted"]),
        window_start=None if start is None else datetime.fromisoformat(start),
        frozen=shown["frozen"],
        queued=shown["queued"],
        warn_at=[read_ratio(ratio, "warn_at") for ratio in shown["warn_at"]],
        backpressure=backpressure,
    )
