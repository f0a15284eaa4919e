"""Numbers and lists in texts."""

import pytest

from purser.budget.texts import number_of, parts_of


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("7", 7), ("007", 7), ("9" * 18, 10**18 - 1)])
def test_decimal_digits_are_a_number(text: str, number: int) -> None:
    assert number_of(text) == number


@pytest.mark.parametrize("text", ["", " 7", "-7", "+7", "7.0", "1_000", "0x7", "²", "٧", "७", "7\0", "9" * 19])
def test_anything_else_and_what_no_bigint_holds_is_none(text: str) -> None:
    assert number_of(text) is None


@pytest.mark.parametrize(
    ("text", "parts"),
    [("", []), (" , ", []), ("a", ["a"]), ("a,b", ["a", "b"]), (" a b ,, c,", ["a b", "c"])],
)
def test_parts_of_a_list_are_between_commas(text: str, parts: list[str]) -> None:
    assert parts_of(text) == parts
