"""Forecasts: burn rates from samples of what was spent, and the time to exhaustion."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from purser.budget.gate import Amount
from purser.budget.reports.forecast import DAY, HOUR, LEAST_HISTORY, Basis, Forecast, Point, forecast, spent_at

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def history(*points: tuple[timedelta, int]) -> list[Point]:
    """What was spent so long ago; the last one is now."""
    return [Point(NOW - ago, Amount(spent, 3 * spent)) for ago, spent in points]


def of(*points: tuple[timedelta, int], headroom: int | None = 100, end: datetime | None = None) -> Forecast:
    return forecast(history(*points), headroom, None, end)


def test_without_a_history_of_a_minute_there_is_no_rate() -> None:
    nothing = Forecast(None, None, None, Basis.TOO_SHORT)
    assert forecast([], 100, 100, None) == nothing
    assert of((timedelta(), 50)) == nothing
    assert of((LEAST_HISTORY - timedelta(microseconds=1), 0), (timedelta(), 50)) == nothing
    assert of((LEAST_HISTORY, 0), (timedelta(), 50)).tokens_per_hour == 3_000


def test_a_young_scope_is_measured_since_its_first_entry() -> None:
    found = of((30 * MINUTE, 0), (timedelta(), 50))
    assert found == Forecast(100, 300, NOW + HOUR, Basis.SINCE_FIRST)


def test_the_last_hour_is_measured_from_an_hour_ago_exactly() -> None:
    found = of((90 * MINUTE, 0), (30 * MINUTE, 60), (timedelta(), 60))
    assert (found.tokens_per_hour, found.basis) == (40, Basis.SINCE_FIRST)  # 60 in 90 minutes beats 30 in the last hour
    found = of((3 * HOUR, 0), (2 * HOUR, 0), (timedelta(), 60))
    assert (found.tokens_per_hour, found.basis) == (30, Basis.HOUR)


def test_the_higher_of_both_rates_counts() -> None:
    assert of((DAY, 0), (HOUR, 240), (timedelta(), 250)).tokens_per_hour == 11
    assert of((DAY, 0), (HOUR, 240), (timedelta(), 250)).basis is Basis.DAY
    assert of((DAY, 0), (HOUR, 10), (timedelta(), 250)) == Forecast(240, 720, NOW + 25 * MINUTE, Basis.HOUR)


def test_the_unit_that_is_used_up_first_decides() -> None:
    points = history((HOUR, 0), (timedelta(), 50))
    assert forecast(points, 100, 150, None).exhausts_at == NOW + HOUR
    assert forecast(points, 100, None, None).exhausts_at == NOW + 2 * HOUR
    assert forecast(points, None, None, None).exhausts_at is None


def test_a_scope_that_spends_nothing_lasts_for_ever_and_one_that_has_nothing_left_ends_now() -> None:
    assert of((HOUR, 50), (timedelta(), 50)) == Forecast(0, 0, None, Basis.HOUR)
    assert of((HOUR, 0), (timedelta(), 50), headroom=0).exhausts_at == NOW
    assert of((HOUR, 0), (timedelta(), 50), headroom=-5).exhausts_at == NOW


def test_a_window_that_ends_before_or_then_renews() -> None:
    points = (HOUR, 0), (timedelta(), 50)
    assert of(*points, end=NOW + 2 * HOUR).exhausts_at is None
    assert of(*points, end=NOW + 2 * HOUR + timedelta(microseconds=1)).exhausts_at == NOW + 2 * HOUR


def test_what_a_correction_gives_back_is_no_rate() -> None:
    assert of((HOUR, 80), (timedelta(), 50)).tokens_per_hour == 0


def test_a_time_beyond_the_calendar_is_never() -> None:
    assert of((HOUR, 0), (timedelta(), 1), headroom=10**15).exhausts_at is None


@st.composite
def histories(draw: st.DrawFn) -> Sequence[Point]:
    agos = draw(st.lists(st.integers(1, 48 * 3_600), min_size=1, max_size=6, unique=True).map(sorted))
    spent = sorted(draw(st.lists(st.integers(0, 10**15), min_size=len(agos) + 1, max_size=len(agos) + 1)))
    seconds = [*reversed(agos), 0]
    return [Point(NOW - timedelta(seconds=ago), Amount(s, 0)) for ago, s in zip(seconds, spent, strict=True)]


@given(histories(), st.integers(0, 10**15))
def test_spending_at_the_rate_reaches_the_end_when_it_says(points: Sequence[Point], headroom: int) -> None:
    found = forecast(points, headroom, None, None)
    if found.exhausts_at is None or found.tokens_per_hour is None:
        return
    hours = (found.exhausts_at - NOW) / HOUR
    # The shown rate is rounded up by less than one token an hour.
    assert (found.tokens_per_hour - 1) * hours <= headroom * (1 + 1e-9)
    assert found.tokens_per_hour * (hours + 1e-6) >= headroom * (1 - 1e-9)


@given(histories())
def test_a_rate_is_never_below_what_the_last_hour_or_day_was(points: Sequence[Point]) -> None:
    found = forecast(points, None, None, None)
    if found.tokens_per_hour is None:
        assert NOW - points[0].at < LEAST_HISTORY
        return
    for span in (HOUR, DAY):
        if points[0].at <= NOW - span:
            burnt = points[-1].spent.tokens - spent_at(points, NOW - span, "tokens")
            assert found.tokens_per_hour * (span // HOUR) >= burnt


@given(histories(), st.integers(0, 48 * 3_600))
def test_what_was_spent_at_a_time_lies_between_its_neighbours(points: Sequence[Point], ago: int) -> None:
    at = max(points[0].at, NOW - timedelta(seconds=ago))
    before = max((point for point in points if point.at <= at), key=lambda point: point.at)
    after = min((point for point in points if point.at >= at), key=lambda point: point.at)
    assert before.spent.tokens <= spent_at(points, at, "tokens") <= after.spent.tokens


@given(histories(), st.integers(1, 10**12), st.integers(1, 10**12))
def test_more_headroom_never_lasts_shorter(points: Sequence[Point], headroom: int, more: int) -> None:
    first, second = (forecast(points, room, None, None).exhausts_at for room in (headroom, headroom + more))
    assert second is None or (first is not None and first <= second)
