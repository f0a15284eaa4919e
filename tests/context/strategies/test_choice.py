"""The choice between truncation and a summary: matrix, scores, frequency, content."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from purser.context.strategies.choice import (
    MOST_SUMMARIES,
    SUMMARIZE,
    TRUNCATE,
    TRUNCATE_BY_TOKENS,
    Preference,
    choose,
    scores,
)

FAST, BALANCED, QUALITY = Preference


@pytest.mark.parametrize(
    ("messages", "characters", "preference", "strategy"),
    [
        (9, 1_999, FAST, TRUNCATE),
        (9, 1_999, BALANCED, TRUNCATE),
        (9, 1_999, QUALITY, TRUNCATE),
        (10, 2_000, FAST, TRUNCATE),
        (10, 2_000, BALANCED, TRUNCATE),
        (10, 2_000, QUALITY, SUMMARIZE),
        (30, 10_000, BALANCED, TRUNCATE),
        (31, 10_001, FAST, TRUNCATE),
        (31, 10_001, BALANCED, SUMMARIZE),
        (31, 10_001, QUALITY, SUMMARIZE),
    ],
)
def test_the_matrix_holds_at_the_edges_of_its_classes(
    messages: int, characters: int, preference: Preference, strategy: str
) -> None:
    assert choose(messages=messages, characters=characters, preference=preference).strategy == strategy


def test_a_mixed_case_takes_the_larger_class_and_says_so() -> None:
    few_long = choose(messages=4, characters=40_000, preference=BALANCED)
    assert few_long.strategy == SUMMARIZE
    assert "the larger of short and long" in few_long.reason
    many_tiny = choose(messages=60, characters=600, preference=BALANCED)
    assert many_tiny.strategy == SUMMARIZE
    assert "the larger of long and short" in many_tiny.reason
    assert "larger" not in choose(messages=4, characters=40, preference=BALANCED).reason


def test_scores_decide_the_open_cell_only() -> None:
    assert choose(messages=20, characters=5_000, preference=BALANCED).scores == {"truncate": 50, "summarize": 50}
    assert choose(messages=20, characters=5_000, preference=QUALITY).scores == {}
    assert scores(messages=60, characters=20_000, preference=FAST, summaries=5) == {
        "truncate": Fraction("0.8") * 20,
        "summarize": Fraction("0.2") * 30,
    }


def test_where_most_messages_are_tool_traffic_rounds_are_not_counted() -> None:
    assert choose(messages=60, characters=9_000, preference=FAST, tool_messages=31).strategy == TRUNCATE_BY_TOKENS
    assert choose(messages=60, characters=9_000, preference=FAST, tool_messages=30).strategy == TRUNCATE
    assert choose(messages=60, characters=9_000, preference=QUALITY, tool_messages=60).strategy == SUMMARIZE


@given(st.integers(0, 500), st.integers(0, 200_000), st.sampled_from(Preference), st.integers(0, 10), st.booleans())
def test_summaries_stop_at_their_limit_and_need_a_summarizer(
    messages: int, characters: int, preference: Preference, summaries: int, can_summarize: bool
) -> None:
    found = choose(
        messages=messages,
        characters=characters,
        preference=preference,
        summaries=summaries,
        can_summarize=can_summarize,
    )
    assert found.reason.endswith(("truncate", "summarize"))
    if summaries >= MOST_SUMMARIES or not can_summarize or preference is FAST:
        assert found.strategy == TRUNCATE
