"""Budget views."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic_core import to_json

from purser.budget.gate import NOTHING, Amount
from purser.budget.policies.policy import Policy
from purser.budget.reports.views import BudgetView, whole_percent
from purser.budget.scopes import Scope


def view(policy: Policy, **amounts: Amount) -> BudgetView:
    figures: Any = {"spent": NOTHING, "held": NOTHING, "granted": NOTHING, "overrun": NOTHING} | amounts
    return BudgetView(Scope.parse("session:s1"), policy, {}, None, None, **figures)


@pytest.mark.parametrize(
    ("policy", "amounts", "ratio"),
    [
        (Policy(), {"spent": Amount(5, 5)}, 0.0),
        (Policy(limit_tokens=100), {"spent": Amount(50, 9), "held": Amount(25)}, 0.75),
        (Policy(limit_tokens=100), {"spent": Amount(150), "granted": Amount(100)}, 0.75),
        (Policy(limit_tokens=100, limit_nano_usd=10), {"spent": Amount(50, 9)}, 0.9),
        (Policy(limit_tokens=0), {}, None),
        (Policy(limit_tokens=100, limit_nano_usd=0), {"spent": Amount(50)}, None),
        (Policy(limit_tokens=0), {"spent": Amount(1), "granted": Amount(2)}, 0.5),
    ],
)
def test_the_ratio_is_the_larger_of_tokens_and_money_or_null(
    policy: Policy, amounts: dict[str, Amount], ratio: float | None
) -> None:
    assert view(policy, **amounts).ratio == ratio


def test_headroom_is_what_is_left_below_zero_too() -> None:
    policy = Policy(limit_tokens=100, limit_nano_usd=10)
    shown = view(policy, spent=Amount(120, 3), held=Amount(5, 1), granted=Amount(10, 2), overrun=Amount(20)).to_json()
    assert shown["tokens"] == {"spent": 120, "held": 5, "granted": 10, "overrun": 20, "headroom": -15}
    assert shown["nano_usd"] == {"spent": 3, "held": 1, "granted": 2, "overrun": 0, "headroom": 8}
    assert view(Policy(), spent=Amount(5)).to_json()["tokens"]["headroom"] is None


def test_everything_shown_is_json() -> None:
    policy = Policy(limit_tokens=2**53 - 1)
    at = datetime(2026, 11, 20, tzinfo=UTC)
    seen = BudgetView(Scope.parse("task:t"), policy, {"mode": "default"}, at, at, NOTHING, NOTHING, NOTHING, NOTHING)
    shown = json.loads(to_json(seen.to_json()))
    assert (shown["limit_tokens"], shown["window_start"]) == (2**53 - 1, "2026-11-20T00:00:00Z")
    assert (shown["warn_at"], shown["backpressure"][0], shown["pressure"]) == ([0.8], [0.8, 50], "low")


@pytest.mark.parametrize(("ratio", "percent"), [(0.29, 29), (0.57, 57), (0.79996, 79), (0.999, 99), (1.0, 100), (0, 0)])
def test_a_share_is_cut_to_whole_percents(ratio: float, percent: int) -> None:
    assert whole_percent(ratio) == percent
