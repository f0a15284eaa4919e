"""Valid and invalid asks and reports."""

import re
from typing import Any

import pytest

from purser.budget.errors import InvalidRequest
from purser.budget.gate import Amount
from purser.budget.holds import HoldRequest, Report
from purser.budget.scopes import Path, payers
from purser.budget.usage import Usage
from purser.wire.limits import MAX_CALL_NANO_USD, MAX_CALL_TOKENS, MAX_KEY, MAX_LEASE_MS

PATH = Path.parse(["session:s1", "task:t1"])


def request(**fields: Any) -> HoldRequest:
    given: dict[str, Any] = {"key": "k", "path": PATH, "ask": Amount(100, 10)}
    return HoldRequest(**(given | fields))


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"ask": Amount(0)}, "tokens 0 is not valid: use a whole number from 1"),
        ({"ask": Amount(-1)}, "tokens -1 is not valid"),
        ({"ask": Amount(True)}, "tokens True is not valid"),
        ({"ask": Amount(1.5)}, "tokens 1.5 is not valid"),  # type: ignore[arg-type]
        ({"ask": Amount("9")}, "tokens '9' is not valid"),  # type: ignore[arg-type]
        ({"ask": Amount(MAX_CALL_TOKENS + 1)}, f"to {MAX_CALL_TOKENS}"),
        ({"ask": Amount(1, MAX_CALL_NANO_USD + 1)}, f"to {MAX_CALL_NANO_USD}"),
        ({"ask": Amount(1, -1)}, "nano_usd -1 is not valid"),
        ({"ask": Amount(1, 0.5)}, "nano_usd 0.5 is not valid"),  # type: ignore[arg-type]
        ({"least": Amount(0)}, "min_tokens 0 is not valid: use a whole number from 1 to 100"),
        ({"least": Amount(101)}, "min_tokens 101 is not valid: use a whole number from 1 to 100"),
        ({"least": Amount(50, 11)}, "min_nano_usd 11 is not valid: use a whole number from 0 to 10"),
        ({"least": Amount(50, 1.5)}, "min_nano_usd 1.5 is not valid"),  # type: ignore[arg-type]
        ({"lease_ms": 0}, "lease_ms 0 is not valid"),
        ({"lease_ms": 1.5}, "lease_ms 1.5 is not valid"),
        ({"lease_ms": MAX_LEASE_MS + 1}, f"use a whole number from 1 to {MAX_LEASE_MS}"),
        ({"key": ""}, "key '' is not valid: use 1 to 256 printable characters"),
        ({"key": "x" * (MAX_KEY + 1)}, "use 1 to 256 printable characters"),
        ({"key": "a\nb"}, "printable"),
        ({"key": "\ud800"}, "printable"),
        ({"model": ""}, "model '' is not valid"),
        ({"model": "gpt\x00"}, "printable"),
    ],
)
def test_a_malformed_ask_is_named_with_the_remedy(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidRequest, match=re.escape(said)):
        request(**fields)


@pytest.mark.parametrize("nano", [-1, True, 1.5, MAX_CALL_NANO_USD + 1])
def test_a_malformed_report_is_named_with_the_remedy(nano: Any) -> None:
    with pytest.raises(InvalidRequest, match=r"nano_usd .* is not valid"):
        Report(Usage(input=1), nano)


def test_a_report_of_more_tokens_than_a_call_can_use_is_refused() -> None:
    with pytest.raises(InvalidRequest, match=f"to {MAX_CALL_TOKENS}"):
        Report(Usage(input=MAX_CALL_TOKENS, output=1), 0)


def test_automatically_added_scopes_are_not_part_of_the_payload() -> None:
    joined = PATH.below(*payers("acme", "ana"))
    assert request(path=joined, stated=PATH).digest == request().digest != request(path=joined).digest


def test_a_key_is_bound_to_its_payload() -> None:
    one = request(least=Amount(50, 5), model="m")
    assert one.digest == request(least=Amount(50, 5), model="m").digest
    others = [
        request(least=Amount(50, 5), model="n"),
        request(least=Amount(50, 5)),
        request(least=Amount(51, 5), model="m"),
        request(least=Amount(50, 4), model="m"),
        request(ask=Amount(101, 10), least=Amount(50, 5), model="m"),
        request(ask=Amount(100, 11), least=Amount(50, 5), model="m"),
        request(path=Path.parse(["session:s1"]), least=Amount(50, 5), model="m"),
    ]
    assert len({other.digest for other in [one, *others]}) == len(others) + 1


def test_a_key_of_a_request_whose_size_was_estimated_is_bound_to_what_was_sent() -> None:
    one = request(sent=b"body")
    assert one.digest == request(ask=Amount(101, 11), least=Amount(50, 5), model="m", sent=b"body").digest
    others = [request(), request(sent=b"other"), request(path=Path.parse(["session:s1"]), sent=b"body")]
    assert len({other.digest for other in [one, *others]}) == len(others) + 1


def test_how_long_and_how_patiently_is_no_part_of_the_payload() -> None:
    assert request().digest == request(lease_ms=5, patient=False).digest
    assert request().digest == request(least=Amount(100, 10)).digest


def test_a_report_is_bound_to_every_figure_of_its_usage() -> None:
    reports = [
        Report(Usage(input=10), 1),
        Report(Usage(input=10), 2),
        Report(Usage(input=9, output=1), 1),
        Report(Usage(input=9, output=1, reasoning=1), 1),
        Report(Usage(cache_read=10), 1),
        Report(Usage.from_total(10), 1),
    ]
    assert {report.amount.tokens for report in reports} == {10}
    assert len({report.digest for report in reports}) == len(reports)
