"""Calendar windows: the time span to which a limit applies.

The window's start is part of a balance's key, so nothing has to be reset. The SQL function `ledger_window_start`
computes the same under the lock; a property test compares the two.
"""

from datetime import UTC, datetime, timedelta
from enum import StrEnum
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from purser.budget.errors import InvalidPolicy


class Window(StrEnum):
    """Time span to which a limit applies."""

    LIFETIME = "lifetime"
    HOUR = "hour"
    DAY = "day"
    MONTH = "month"


def zone(name: str) -> ZoneInfo:
    """Returns the named time zone; raises `InvalidPolicy`.

    Names without a region, such as CET, are refused: Python reads them as zones with daylight saving time, Postgres as
    abbreviations for fixed offsets.
    """
    try:
        if name != "UTC" and "/" not in name:
            raise ValueError
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidPolicy(
            f"timezone {name[:80]!r} is not known: use UTC or an IANA name such as Europe/Berlin"
        ) from None


def window_bounds(window: Window, timezone: str, at: datetime) -> tuple[datetime | None, datetime | None]:
    """Start (inclusive) and end (exclusive), in UTC, of the window that contains `at`; `(None, None)` for a lifetime.

    An hour is an hour of elapsed time, so the repeated hour of an autumn night is two windows. A day runs from
    local midnight to local midnight: 23, 24 or 25 hours; of two midnights the first counts. Where the clock moves by
    half an hour, the hour next to the change is returned as a whole hour and includes the remaining half.
    """
    if window is Window.LIFETIME:
        return None, None
    local = at.astimezone(zone(timezone))
    if window is Window.HOUR:
        start = at.astimezone(UTC) - timedelta(
            minutes=local.minute, seconds=local.second, microseconds=local.microsecond
        )
        return start, start + timedelta(hours=1)
    midnight = local.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
    if window is Window.MONTH:
        midnight = midnight.replace(day=1)
        following = (midnight + timedelta(days=32)).replace(day=1)
    else:
        following = midnight + timedelta(days=1)
    return midnight.astimezone(UTC), following.astimezone(UTC)
