"""Formats of durations and long texts."""

import pytest

from purser.gateway.dashboard.components import component
from purser.gateway.dashboard.formats import duration_text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 ms"), (0.012, "12 ms"), (4.26, "4.3 s"), (59, "59 s"), (64, "1 min 4 s"), (7_500, "2 h 5 min"),
     (2e6, "23 days")],
)  # fmt: skip
def test_durations_are_shown_in_a_suitable_unit(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


def test_long_texts_are_folded_cut_and_always_escaped() -> None:
    hostile = "<script>alert(1)</script>"
    assert "<script" not in component("long_text", hostile)
    folded = component("long_text", hostile * 500, most=1_000)
    assert "<script" not in folded
    assert "<details" in folded
    assert "11,500 more characters" in folded
