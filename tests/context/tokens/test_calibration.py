"""Calibration: reported usage corrects counts of models without a public tokenizer, gradually and within bounds."""

from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from purser.context.tokens.calibration import LEAST, LEAST_COUNTED, MOST, ONE, Calibration, is_calibrated

tokens = st.integers(0, 10**7)
reports = st.lists(st.tuples(tokens, tokens), max_size=60)


def after(*reports: tuple[int, int]) -> Calibration:
    return reduce(lambda known, report: known.learned(*report), reports, Calibration())


def test_without_reports_counts_stay_as_they_are() -> None:
    assert (Calibration().tokens(1_000), Calibration().room(1_000)) == (1_000, 1_000)


def test_reports_that_agree_become_the_ratio() -> None:
    learned = after(*[(10_000, 12_500)] * 100)
    assert learned.ratio == pytest.approx(1.25 * ONE, rel=0.01)
    assert learned.tokens(1_000) == pytest.approx(1_250, abs=10)
    assert learned.calls == 100


def test_one_report_moves_it_a_little_and_a_late_one_less() -> None:
    assert after((10_000, 12_500)).ratio == 1.05 * ONE
    settled = after(*[(10_000, 10_000)] * 100)
    assert settled.learned(10_000, 12_000).ratio == 1.01 * ONE


def test_short_prompts_and_empty_reports_teach_nothing() -> None:
    assert after((LEAST_COUNTED - 1, 1_000), (1_000, 0)) == Calibration()


@given(reports)
def test_the_ratio_never_leaves_its_bounds(reports: list[tuple[int, int]]) -> None:
    assert LEAST <= after(*reports).ratio <= MOST


@given(st.integers(LEAST, MOST), tokens)
def test_what_room_promises_fits(ratio: int, size: int) -> None:
    known = Calibration(ratio)
    assert known.tokens(known.room(size)) <= size < known.tokens(known.room(size) + 1) + 2


def test_after_a_report_only_what_came_later_is_converted() -> None:
    known = Calibration(1_100_000).following(10_000, 8_500)
    assert known.tokens(10_000) == 8_500
    assert known.tokens(11_000) == 8_500 + 1_100
    assert known.tokens(5_000) == 4_250, "a window that was cut since is converted by the report itself"


def test_a_small_or_implausible_report_is_not_followed() -> None:
    for counted, reported in ((LEAST_COUNTED - 1, 150), (10_000, 7_999), (10_000, 15_001), (10_000, 0)):
        assert Calibration().following(counted, reported) == Calibration()


@given(st.integers(LEAST, MOST), st.integers(LEAST_COUNTED, 10**6), st.integers(LEAST, MOST), tokens)
def test_what_room_promises_after_a_report_fits(ratio: int, counted: int, seen: int, size: int) -> None:
    known = Calibration(ratio).following(counted, counted * seen // ONE)
    assert known.tokens(known.room(size)) <= size


def test_only_models_without_a_public_tokenizer_are_calibrated() -> None:
    models = ("gpt-4", "gpt-4o", "claude-sonnet-4-5", "gemini-2.5-pro", "my-own-model")
    assert [is_calibrated(model) for model in models] == [False, False, True, True, True]


@pytest.mark.parametrize("calibration", [Calibration(), Calibration().following(1_000, 1_200)])
def test_what_is_overdrawn_is_converted_too(calibration: Calibration) -> None:
    """Instructions may be larger than what is left of a budget: the room is negative then."""
    assert calibration.room(-50) < 0
    assert calibration.tokens(-50) < 0
