"""Lengths of summaries and their headers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from purser.context.compression.headings import length_header
from purser.context.compression.lengths import Style, summary_length


@pytest.mark.parametrize(
    ("source", "characters", "style"),
    [
        (0, 0, Style.SHORT),
        (46, 46, Style.SHORT),
        (499, 50, Style.SHORT),
        (500, 100, Style.KEY_POINTS),
        (1_000, 150, Style.KEY_POINTS),
        (1_999, 299, Style.KEY_POINTS),
        (2_000, 300, Style.LAYERED),
        (10_000, 800, Style.LAYERED),
    ],
)
def test_the_length_follows_the_source(source: int, characters: int, style: Style) -> None:
    length = summary_length(source)
    assert (length.characters, length.style) == (characters, style)


@pytest.mark.parametrize(("ratio", "characters"), [(0.10, 200), (0.15, 300), (0.25, 500), (0.40, 800)])
def test_the_ratio_is_a_setting(ratio: float, characters: int) -> None:
    assert summary_length(2_000, ratio=ratio).characters == characters


@given(st.integers(0, 100_000), st.sampled_from((0.1, 0.15, 0.25, 0.4)))
def test_no_summary_is_asked_to_be_longer_than_its_source(source: int, ratio: float) -> None:
    assert summary_length(source, ratio=ratio).characters <= min(source, 800)


def test_the_header_states_true_lengths_in_the_language_of_the_conversation() -> None:
    assert length_header(1234, 56, "zh") == "[历史对话总结 - 原文1234字，总结56字]"
    english = "[Summary of the earlier conversation - source 1234 characters, summary 56 characters]"
    assert length_header(1234, 56) == english
    assert length_header(1234, 56, "xx") == english
