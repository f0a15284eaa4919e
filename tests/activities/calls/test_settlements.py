"""The charge of an attempt."""

import pytest

from purser.activities.calls.settlements import report_of
from purser.budget.gate import Amount
from purser.budget.holds import MAX_CALL_TOKENS, Report
from purser.budget.pricing.call_prices import Unpriced
from purser.budget.pricing.price_book import PriceBook
from purser.budget.usage import Usage
from tests.support.prices import per_million

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
    assert report_of("some-model", USED, Amount(100, admitted_at), prices, outcomes.append) == report
    assert outcomes == counted


def test_an_attempt_that_used_nothing_needs_no_price() -> None:
    outcomes: list[Unpriced] = []
    assert report_of("some-model", Usage(), Amount(100, 400_000), NO_PRICES, outcomes.append) == Report(Usage(), 0)
    assert outcomes == []


def test_usage_that_no_call_can_have_is_charged_as_estimated() -> None:
    beyond = Usage(input=MAX_CALL_TOKENS + 1)
    report = report_of("some-model", beyond, Amount(100, 400), NO_PRICES, lambda outcome: None)
    assert (report.amount, report.usage.estimated) == (Amount(100, 400), True)
