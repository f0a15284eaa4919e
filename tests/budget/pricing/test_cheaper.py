"""The choice of a cheaper model."""

import pytest

from purser.budget.pricing.cheaper import cheaper_model
from purser.budget.pricing.price_book import PriceBook
from purser.budget.usage import Usage

PRICES = PriceBook.load()
UNKNOWN = "own/model"


@pytest.mark.parametrize(
    ("model", "names", "money_counts", "chosen"),
    [
        ("gpt-4o", ["gpt-4o-mini", "gpt-4.1-nano"], True, "gpt-4o-mini"),
        ("gpt-4o", ["gpt-4", "gpt-4o", "gpt-4.1-nano"], True, "gpt-4.1-nano"),
        ("gpt-4o-mini", ["gpt-4o"], True, "gpt-4o-mini"),
        ("gpt-4o", [UNKNOWN, "gpt-4o-mini"], True, "gpt-4o-mini"),
        ("gpt-4o", [UNKNOWN, "gpt-4o-mini"], False, UNKNOWN),
        (UNKNOWN, ["gpt-4o"], True, "gpt-4o"),
        (UNKNOWN, ["gpt-4o", "other/model"], False, UNKNOWN),
        ("gpt-4o", [], True, "gpt-4o"),
    ],
)
def test_the_first_that_is_cheaper_is_chosen(model: str, names: list[str], money_counts: bool, chosen: str) -> None:
    usage = Usage(input=1_000, output=500)
    assert cheaper_model(PRICES, model, names, usage, money_counts=money_counts) == chosen


def test_a_model_whose_window_the_call_does_not_fit_is_passed_over() -> None:
    window = PRICES.context_window("gpt-4o-mini")
    assert window is not None
    for usage, chosen in ((Usage(input=window), "gpt-4o-mini"), (Usage(input=window, output=1), "gpt-4.1-nano")):
        names = ["gpt-4o-mini", "gpt-4.1-nano"]
        assert cheaper_model(PRICES, "gpt-4o", names, usage, money_counts=True) == chosen
