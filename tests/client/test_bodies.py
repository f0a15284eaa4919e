"""A body that the gateway would refuse is an error before it is sent."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from purser_client import InvalidRequest
from purser_client.operations import approvals, budgets, holds

SECRET = "what nobody repeats"


@pytest.mark.parametrize(
    ("build", "field"),
    [
        (lambda: holds.ask(["session:s1"], 0), "tokens"),
        (lambda: holds.ask(["session:s1"], 5, key=""), "key"),
        (lambda: holds.ask([], 5), "path"),
        (lambda: holds.ask(["session:s1"], 5, model=f"{SECRET}\n"), "model"),
        (lambda: holds.ask(["session:s1"], 5, tags={str(n): "x" for n in range(11)}), "tags"),
        (lambda: holds.start_attempt("h1", 0), "attempt"),
        (lambda: holds.settle("h1", {"total": 5}, nano_usd=-1), "nano_usd"),
        (lambda: holds.settle("h1", {"total": f"{SECRET}\0"}), ""),
        (lambda: holds.extend("h1", lease_ms=0), "lease_ms"),
        (lambda: approvals.decide("a1", "approve", grant_tokens=0), "grant_tokens"),
        (lambda: approvals.decide("a1", "approve", decision_id=""), "decision_id"),
        (lambda: budgets.apply({f"session:s{n}": None for n in range(10_001)}), "policies"),
        (lambda: budgets.replay({}, datetime.fromisoformat("2026-11-20T18:00:00")), "since"),
    ],
)
def test_it_is_the_same_error_as_the_gateways_and_repeats_no_value(build: Callable[[], Any], field: str) -> None:
    with pytest.raises(InvalidRequest) as raised:
        build()
    assert raised.value.problem.field == field
    assert raised.value.status == 422
    assert SECRET not in str(raised.value)
