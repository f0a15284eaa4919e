"""Dollar amounts as text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from purser.budget.errors import InvalidRequest
from purser.budget.money import NANO, dollars, parse_dollars, typed_dollars
from purser.wire.limits import MAX_AMOUNT

LARGEST = MAX_AMOUNT // NANO


@pytest.mark.parametrize(
    ("nano_usd", "shown", "typed"),
    [
        (0, "$0.00", "0"),
        (1, "$0.000000001", "0.000000001"),
        (250_000_000, "$0.25", "0.25"),
        (500_000_000, "$0.50", "0.5"),
        (10 * NANO, "$10.00", "10"),
        (1_234_567_000_000, "$1,234.567", "1234.567"),
        (MAX_AMOUNT, "$9,007,199.254740991", "9007199.254740991"),
    ],
)
def test_a_sum_is_shown_and_typed_with_every_digit_that_counts(nano_usd: int, shown: str, typed: str) -> None:
    assert (dollars(nano_usd), typed_dollars(nano_usd)) == (shown, typed)


def test_an_overdrawn_sum_has_its_sign_before_the_dollar() -> None:
    assert dollars(-1_500_000_000) == "-$1.50"


@pytest.mark.parametrize(("decimals", "shown"), [(2, "$0.01"), (4, "$0.0123"), (5, "$0.01235"), (9, "$0.0123456")])
def test_fewer_decimals_are_rounded_and_never_fewer_than_cents(decimals: int, shown: str) -> None:
    assert dollars(12_345_600, decimals) == shown
    assert dollars(NANO, decimals) == "$1.00"


@given(st.integers(0, MAX_AMOUNT))
def test_what_is_typed_is_read_as_the_same(nano_usd: int) -> None:
    assert parse_dollars(typed_dollars(nano_usd)) == nano_usd


@pytest.mark.parametrize("text", ["", "-1", "$1", "1,200", ".5", "1.", "1e3", "0.0000000001", "٣", " 1", "1\n", "inf"])
def test_what_is_no_amount_is_named(text: str) -> None:
    with pytest.raises(InvalidRequest, match="is no amount: write dollars with at most 9 decimals"):
        parse_dollars(text)


def test_more_than_an_amount_can_be_is_named_with_the_most() -> None:
    assert parse_dollars(str(LARGEST)) == LARGEST * NANO
    with pytest.raises(InvalidRequest, match=f"at most {LARGEST} dollars"):
        parse_dollars(str(LARGEST + 1))
