"""Calendar windows at their edges: midnight, the end of a month, and clocks that are set forward and back."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from purser.budget.errors import InvalidPolicy
from purser.budget.windows import Window, window_bounds, zone

ZONES = (
    "UTC", "Europe/Berlin", "America/New_York", "America/Havana", "Africa/Cairo", "Asia/Beirut", "Australia/Lord_Howe",
    "Asia/Kathmandu", "Pacific/Apia", "America/St_Johns", "Antarctica/Troll", "Antarctica/Casey",
)  # fmt: skip
EPOCH = datetime(2005, 1, 1, tzinfo=UTC)
INSTANTS = st.timedeltas(timedelta(), timedelta(days=32 * 365)).map(lambda since: EPOCH + since)
MICROSECOND = timedelta(microseconds=1)


def bounds(window: str, zone: str, at: str) -> tuple[str, str]:
    """Start and end as local times of the zone, of the window that holds a UTC instant."""
    start, end = window_bounds(Window(window), zone, datetime.fromisoformat(at).replace(tzinfo=UTC))
    assert start is not None
    assert end is not None
    shown = (bound.astimezone(ZoneInfo(zone)).isoformat(" ", "minutes") for bound in (start, end))
    return next(shown), next(shown)


def hours(window: str, zone: str, at: str) -> float:
    """Length of the window that holds a UTC instant."""
    start, end = window_bounds(Window(window), zone, datetime.fromisoformat(at).replace(tzinfo=UTC))
    assert start is not None
    assert end is not None
    return (end - start) / timedelta(hours=1)


def test_a_lifetime_has_no_bounds() -> None:
    assert window_bounds(Window.LIFETIME, "Europe/Berlin", datetime.now(UTC)) == (None, None)


def test_midnight_belongs_to_the_day_that_begins() -> None:
    assert bounds("day", "Europe/Berlin", "2026-11-19 22:59:59.999999") == (
        "2026-11-19 00:00+01:00",
        "2026-11-20 00:00+01:00",
    )
    assert bounds("day", "Europe/Berlin", "2026-11-19 23:00") == ("2026-11-20 00:00+01:00", "2026-11-21 00:00+01:00")


def test_a_month_ends_at_its_own_midnight_and_may_change_the_offset() -> None:
    assert bounds("month", "Europe/Berlin", "2026-10-31 22:59") == ("2026-10-01 00:00+02:00", "2026-11-01 00:00+01:00")
    assert bounds("month", "Europe/Berlin", "2026-10-31 23:00") == ("2026-11-01 00:00+01:00", "2026-12-01 00:00+01:00")
    assert bounds("month", "UTC", "2028-02-29 23:59") == ("2028-02-01 00:00+00:00", "2028-03-01 00:00+00:00")
    assert bounds("month", "UTC", "2026-12-31 23:59") == ("2026-12-01 00:00+00:00", "2027-01-01 00:00+00:00")


def test_a_week_begins_on_monday_and_may_cross_a_year_and_a_leap_day() -> None:
    assert bounds("week", "UTC", "2027-01-01 12:00") == ("2026-12-28 00:00+00:00", "2027-01-04 00:00+00:00")
    assert bounds("week", "UTC", "2024-02-29 12:00") == ("2024-02-26 00:00+00:00", "2024-03-04 00:00+00:00")
    assert hours("week", "Europe/Berlin", "2026-03-25 12:00") == 7 * 24 - 1
    assert hours("week", "Europe/Berlin", "2026-10-21 12:00") == 7 * 24 + 1


@pytest.mark.parametrize(
    ("zone", "spring", "autumn"),
    [
        ("Europe/Berlin", "2026-03-29 12:00", "2026-10-25 12:00"),
        ("America/New_York", "2026-03-08 17:00", "2026-11-01 17:00"),
    ],
)
def test_the_day_of_a_clock_change_has_23_or_25_hours(zone: str, spring: str, autumn: str) -> None:
    assert hours("day", zone, spring) == 23
    assert hours("day", zone, autumn) == 25


@pytest.mark.parametrize(
    ("zone", "first", "second", "local"),
    [
        ("Europe/Berlin", "2026-10-25 00:30", "2026-10-25 01:30", "2026-10-25 02:00"),
        ("America/New_York", "2026-11-01 05:30", "2026-11-01 06:30", "2026-11-01 01:00"),
    ],
)
def test_a_repeated_hour_is_two_windows(zone: str, first: str, second: str, local: str) -> None:
    one, other = bounds("hour", zone, first), bounds("hour", zone, second)
    assert one[0][:16] == other[0][:16] == local
    assert one[1] == other[0]
    assert hours("hour", zone, first) == hours("hour", zone, second) == 1


def test_the_hour_after_a_missing_one_begins_where_the_last_one_ends() -> None:
    assert bounds("hour", "Europe/Berlin", "2026-03-29 00:59") == ("2026-03-29 01:00+01:00", "2026-03-29 03:00+02:00")
    assert bounds("hour", "Europe/Berlin", "2026-03-29 01:00") == ("2026-03-29 03:00+02:00", "2026-03-29 04:00+02:00")


def test_where_midnight_happens_twice_the_day_begins_at_the_first() -> None:
    # Havana sets its clock from 01:00 back to 00:00, in 2026 on the first of the month.
    day = ("2026-11-01 00:00-04:00", "2026-11-02 00:00-05:00")
    for at in ("2026-11-01 04:00", "2026-11-01 04:59", "2026-11-01 05:00", "2026-11-01 05:30", "2026-11-02 04:59"):
        assert bounds("day", "America/Havana", at) == day
        assert bounds("month", "America/Havana", at)[0] == day[0]
    assert bounds("day", "America/Havana", "2026-11-01 03:59")[1] == day[0]


@pytest.mark.parametrize(
    ("zone", "before", "first"),
    [("Africa/Cairo", "2026-04-23 21:59", "2026-04-23 22:00"), ("Asia/Beirut", "2026-03-28 21:59", "2026-03-28 22:00")],
)
def test_where_midnight_is_missing_the_day_begins_an_hour_later(zone: str, before: str, first: str) -> None:
    start = bounds("day", zone, first)[0]
    assert start[11:16] == "01:00"
    assert bounds("day", zone, before)[1] == start
    assert hours("day", zone, first) == 23


def test_a_clock_set_back_to_the_evening_before_leaves_one_midnight() -> None:
    # Beirut goes from 24:00 back to 23:00: the day has 25 hours, and the next begins once.
    assert hours("day", "Asia/Beirut", "2026-10-24 12:00") == 25
    assert bounds("day", "Asia/Beirut", "2026-10-24 21:30")[1] == "2026-10-25 00:00+02:00"


def test_a_change_of_half_an_hour_keeps_days_whole() -> None:
    assert hours("day", "Australia/Lord_Howe", "2026-04-04 18:00") == 24.5
    assert hours("day", "Australia/Lord_Howe", "2026-10-03 18:00") == 23.5


def test_a_repeated_half_hour_is_a_window_of_its_own() -> None:
    # Lord Howe goes from 02:00 (+11:00) back to 01:30 (+10:30) at 15:00 UTC.
    starts = [
        bounds("hour", "Australia/Lord_Howe", at)[0]
        for at in ("2026-04-04 14:59", "2026-04-04 15:00", "2026-04-04 15:30")
    ]
    assert len(set(starts)) == 3


@given(st.sampled_from(Window), st.sampled_from(ZONES), INSTANTS)
def test_a_window_holds_its_instant_and_an_instant_has_one_window(window: Window, zone: str, at: datetime) -> None:
    start, end = window_bounds(window, zone, at)
    if start is None or end is None:
        assert window is Window.LIFETIME
        return
    assert start <= at < end
    if window is Window.HOUR and zone == "Australia/Lord_Howe":
        return  # the hour next to a change of half an hour is shown whole
    assert window_bounds(window, zone, start) == (start, end)
    assert window_bounds(window, zone, end - MICROSECOND) == (start, end)
    assert window_bounds(window, zone, end)[0] == end


@pytest.mark.parametrize(
    "name",
    [
        "", "Mars/Olympus", "CET", "localtime", "../../etc/passwd", "Europe", "a" * 300, "\x00/",
        "posix/Europe/Berlin", "right/UTC",
    ],
)  # fmt: skip
def test_an_unknown_time_zone_is_named_with_the_remedy(name: str) -> None:
    with pytest.raises(InvalidPolicy, match="use UTC or an IANA name such as Europe/Berlin"):
        zone(name)
