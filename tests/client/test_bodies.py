"""A request that the gateway would refuse, or that cannot be encoded, is an error before it is sent."""

import math
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from purser_client import InvalidRequest, Patience
from purser_client.operations import approvals, budgets, holds, reports, sessions, tasks
from purser_client.operations.operation import Operation
from purser_client.transport import request_of

SECRET = "what nobody repeats"
CYCLE: list[Any] = []
CYCLE.append(CYCLE)


def said(content: object) -> Operation[Any]:
    return sessions.append("s1", [{"role": "user", "content": content}])


def asked(key: object) -> Operation[Any]:
    unchecked: Any = key
    return sessions.compress("s1", idempotency_key=unchecked)


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
        (lambda: holds.settle("h1", {"total": f"{SECRET}\0"}), "usage.total"),
        (lambda: holds.extend("h1", lease_ms=0), "lease_ms"),
        (lambda: approvals.decide("a1", "approve", grant_tokens=0), "grant_tokens"),
        (lambda: approvals.decide("a1", "approve", decision_id=""), "decision_id"),
        (lambda: budgets.apply({f"session:s{n}": None for n in range(10_001)}), "policies"),
        (lambda: budgets.replay({}, datetime.fromisoformat("2026-11-20T18:00:00")), "since"),
        (lambda: approvals.decide("a1", SECRET), "decision"),  # type: ignore[arg-type]
        (lambda: said(datetime.now(UTC)), "messages.0.content"),
        (lambda: said(SECRET.encode()), "messages.0.content"),
        (lambda: said({SECRET}), "messages.0.content"),
        (lambda: said(math.nan), "messages.0.content"),
        (lambda: said(f"{SECRET}\ud800"), "messages.0.content"),
        (lambda: said({"a": [1, Path(SECRET)]}), "messages.0.content.a.1"),
        (lambda: said({SECRET.encode(): 1}), "messages.0.content"),
        (lambda: said({"\ud800": 1}), "messages.0.content"),
        (lambda: said(CYCLE), ""),
        (lambda: said(10**5_000), ""),
        (lambda: sessions.append("s1", {"role": "user"}), "messages"),  # type: ignore[arg-type]
        (lambda: sessions.append("s1", SECRET), "messages"),  # type: ignore[arg-type]
        (lambda: sessions.set_settings("s1", {"a": object()}), "a"),
        (lambda: sessions.set_user_settings("u1", [SECRET]), "fields"),  # type: ignore[arg-type]
        (lambda: tasks.submit({SECRET}), ""),  # type: ignore[arg-type]
        (lambda: holds.settle("h1", {"total": 5, "more": object()}), ""),
        (lambda: holds.settle("h1", {"total": CYCLE}), ""),
        (lambda: holds.settle("h1", [SECRET]), "usage"),  # type: ignore[arg-type]
        (lambda: holds.ask(["session:s1"], 5, tags=SECRET), "tags"),  # type: ignore[arg-type]
        (lambda: holds.ask_each(5), "holds"),  # type: ignore[arg-type]
        (lambda: budgets.apply({"session:s1": [SECRET]}), "policies.session:s1"),  # type: ignore[dict-item]
        (lambda: reports.usage("model", since=SECRET), "since"),  # type: ignore[arg-type]
        (lambda: reports.ledger(scope=f"{SECRET}\ud800"), "scope"),
        (lambda: holds.show("a" * 70_000), None),
        (lambda: holds.extend("h1", tokens=5, idempotency_key=""), "idempotency_key"),
        *((lambda key=key: asked(key), "idempotency_key") for key in ("", " k", "a\nb", "schlüssel", "k" * 257, 5)),
    ],
)
def test_it_is_the_same_error_as_the_gateways_and_repeats_no_value(build: Callable[[], Any], field: str | None) -> None:
    with httpx.Client(base_url="http://127.0.0.1:9", verify=False) as http, pytest.raises(InvalidRequest) as raised:
        request_of(http, build(), Patience())
    assert raised.value.problem.field == field
    assert raised.value.status == 422
    assert SECRET not in str(raised.value)
    assert raised.value.remedy


@pytest.mark.parametrize(
    ("build", "detail"),
    [
        (lambda: holds.ask(["session:s1"], 0), "tokens is not valid: input should be greater than or equal to 1"),
        (lambda: holds.ask(["session:s1"], 5, key="a\n"), "key is not valid: use printable characters"),
    ],
)
def test_it_is_in_the_words_of_the_gateway(build: Callable[[], Any], detail: str) -> None:
    with pytest.raises(InvalidRequest) as raised:
        build()
    assert raised.value.problem.detail == detail


def test_what_is_sent_is_json_in_utf_8() -> None:
    with httpx.Client(base_url="http://127.0.0.1:9", verify=False) as http:
        request = request_of(http, sessions.append("s1", ({"content": "ü"},), key=""), Patience())
    assert request.headers["Content-Type"] == "application/json"
    assert request.content.decode() == '{"messages":[{"content":"ü"}],"key":""}'
