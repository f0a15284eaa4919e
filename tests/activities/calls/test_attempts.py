"""The charge of an attempt."""

from collections.abc import Callable
from typing import cast

import pytest

from purser.activities.calls.attempts import Attempt, Attempts, anew, known_usage
from purser.activities.errors import Cost, ProviderRejected, ProviderUnavailable
from purser.budget.gate import Amount
from purser.budget.holds import HoldRequest, Report
from purser.budget.postgres.ledger.ledger import Ledger
from purser.budget.pricing.call_prices import Unpriced
from purser.budget.pricing.price_book import PriceBook
from purser.budget.scopes import Path
from purser.budget.usage import Usage
from purser.wire.limits import MAX_CALL_TOKENS
from tests.support.budgets.prices import per_million

USED = Usage(input=20, output=10)
NO_PRICES = PriceBook({}, {}, None)


@pytest.mark.parametrize(
    ("prices", "admitted_at", "report", "counted"),
    [
        (PriceBook({}, {}, per_million("1", "4")), 400_000, Report(USED, 60_000), []),
        (NO_PRICES, 0, Report(USED, 0, priced=False), [Unpriced.FREE]),
        (NO_PRICES, 400_000, Report(USED, 400_000, priced=False), [Unpriced.ESTIMATED]),
    ],
)
def test_a_call_whose_price_is_gone_is_charged_what_it_could_cost(
    prices: PriceBook, admitted_at: int, report: Report, counted: list[Unpriced]
) -> None:
    outcomes: list[Unpriced] = []
    assert report_of(USED, admitted_at, prices, outcomes.append) == report
    assert outcomes == counted


def test_an_attempt_that_used_nothing_needs_no_price() -> None:
    outcomes: list[Unpriced] = []
    assert report_of(Usage(), 400_000, NO_PRICES, outcomes.append) == Report(Usage(), 0)
    assert outcomes == []


def test_usage_that_no_call_can_have_is_charged_as_estimated() -> None:
    beyond = Usage(input=MAX_CALL_TOKENS + 1)
    report = report_of(beyond, 400, NO_PRICES, lambda outcome: None)
    assert (report.amount, report.usage.estimated) == (Amount(100, 400), True)


@pytest.mark.parametrize(
    ("failure", "reported", "known"),
    [
        (ProviderRejected("bad_request", cost=Cost.NOTHING), None, Usage()),
        (ProviderRejected("bad_request", cost=Cost.NOTHING), USED, USED),
        (ProviderUnavailable("connection_broken", cost=Cost.UNKNOWN), USED, USED),
        (ProviderUnavailable("connection_broken", cost=Cost.UNKNOWN), None, None),
        (TimeoutError(), None, None),
    ],
)
def test_the_usage_of_a_failed_request_is_known_if_it_was_reported_or_surely_nothing(
    failure: Exception, reported: Usage | None, known: Usage | None
) -> None:
    assert known_usage(failure, reported) == known


def test_a_repeated_key_whose_hold_has_ended_asks_for_the_same_under_further_keys() -> None:
    request = HoldRequest("k", Path.parse(["session:s1"]), Amount(10), patient=False)
    further = list(anew(request, 2))
    assert [one.key for one in further] == ["k.again1", "k.again2"]
    assert {one.digest for one in further} == {request.digest}


def report_of(usage: Usage, asked_nano_usd: int, prices: PriceBook, on_unpriced: Callable[[Unpriced], None]) -> Report:
    asked = Amount(100, asked_nano_usd)
    attempts = Attempts(cast(Ledger, None), prices, on_unpriced)
    return attempts.report(Attempt("acme", "some-model", "1", 1, asked, asked), usage)
