"""Boundaries between graphemes."""

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from purser.context.compression.graphemes import grapheme_ends
from purser.context.compression.requests import Passage, SummarySource, chunks

FLAG = "🇩🇪"
SIGNS = [*FLAG, "a", "e\u0301", "\ufe0f", "👩", "\u200d", "🏽", "\r", "\n", "\u0600", "क", "가"]


@given(signs=st.lists(st.sampled_from(SIGNS), max_size=30))
def test_a_grapheme_ends_where_the_standard_says(signs: list[str]) -> None:
    text = "".join(signs)
    ends = [match.end() for match in regex.finditer(r"\X", text)]
    assert grapheme_ends(text) == ends
    assert grapheme_ends(text, 3) == ends[:3]


@pytest.mark.timeout(60)
def test_a_run_of_flags_is_read_once() -> None:
    """In quadratic time it takes minutes, which exceeds the timeout."""
    assert grapheme_ends(FLAG * 100_000) == list(range(2, 200_001, 2))
    source = SummarySource("", (Passage("user", FLAG * 100_000),))
    assert {text[:1] for chunk in chunks(source, 50_000, len) for text in [chunk.passages[0].said]} == {FLAG[0]}
