"""Cells of tables of commands."""

import pytest

from purser.compose.cli.tables import percent


@pytest.mark.parametrize(
    ("ratio", "shown"), [(0.0, "0%"), (0.29, "29%"), (0.79996, "79%"), (0.997, "99%"), (1.0, "100%"), (1.256, "125%")]
)
def test_a_share_is_cut_and_never_rounded_up_to_a_limit_that_is_not_reached(ratio: float, shown: str) -> None:
    assert percent(ratio) == shown


def test_a_limit_of_zero_leaves_nothing() -> None:
    assert percent(None) == "none left"
