"""CSV export: no cell is a formula in a spreadsheet."""

import csv
import io

import pytest

from purser.gateway.reports.ledger_csv import FORMULA, csv_lines


def cell(text: str | int) -> str:
    """What a reader of CSV finds in the only cell of a line."""
    [[found]] = csv.reader(io.StringIO(csv_lines([[text]]).decode(), newline=""))
    return found


@pytest.mark.parametrize("beginning", FORMULA, ids=[f"U+{ord(each):04X}" for each in FORMULA])
def test_text_that_begins_like_a_formula_gets_an_apostrophe(beginning: str) -> None:
    assert cell(f"{beginning}1+1") == f"'{beginning}1+1"


def test_the_beginnings_are_those_that_spreadsheets_know() -> None:
    assert set(FORMULA) == set("=+-@\t\r\n＝＋－＠")


@pytest.mark.parametrize("value", ["plain", "1 + 1", "a=b", -5, 0])
def test_other_text_and_numbers_stay_as_they_are(value: str | int) -> None:
    assert cell(value) == str(value)
