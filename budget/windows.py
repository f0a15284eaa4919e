"""Windows: the time span to which a limit applies, a calendar window or a rolling one such as `5h` or `7d`.

A calendar window's start is part of a balance's key, so nothing has to be reset. The SQL function `ledger_window_start`
computes the same under the lock; a property test compares the two. A rolling window counts what was charged within its
length from now back, exact to a sixtieth of the length; its balance has a key from which the length follows.
"""

import re
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from purser.budget.errors import InvalidPolicy


class Window(StrEnum):
    """Calendar windows, and the one without an end."""

    LIFETIME = "lifetime"
    HOUR = "hour"
    DAY = "day"
    WEEK = "week"
    """From Monday, as in ISO 8601."""
    MONTH = "month"


LONGEST_ROLLING = timedelta(days=31)
_ROLLING = re.compile(r"([1-9][0-9]{0,2})([hd])")
_ROLLING_KEYS = datetime(100, 1, 1, tzinfo=UTC)


def read_window(text: str) -> str:
    """Returns a `Window`, or the length of a rolling window in hours or days; raises `InvalidPolicy`."""
    if text in tuple(Window):
        return Window(text)
    length = rolling_length(text)
    if length is None or length > LONGEST_ROLLING:
        raise InvalidPolicy(
            f"window {text[:40]!r} is not valid: use one of {', '.join(Window)}, or a rolling window from 1h to 31d"
        )
    return text


def rolling_length(window: str) -> timedelta | None:
    """The length of a rolling window; `None` for other windows."""
    found = _ROLLING.fullmatch(window)
    if found is None:
        return None
    number = int(found[1])
    return timedelta(hours=number) if found[2] == "h" else timedelta(days=number)


def rolling_window(length: timedelta) -> str:
    """The rolling window of a length in whole hours: `24h` and `1d` are one window, which is called `1d`."""
    hours = length // timedelta(hours=1)
    return f"{hours}h" if hours % 24 else f"{hours // 24}d"


def rolling_key(window: str) -> datetime | None:
    """The `window_start` of the balances of a rolling window; `None` for other windows."""
    length = rolling_length(window)
    return None if length is None else _ROLLING_KEYS + length


def zone(name: str) -> ZoneInfo:
    """Returns the named time zone; raises `InvalidPolicy`.

    Names without a region, such as CET, are refused: Python reads them as zones with daylight saving time, Postgres as
    abbreviations for fixed offsets. So are the copies of all zones under `posix/` and `right/`: only Python finds them.
    """
    try:
        region, slash, _ = name.partition("/")
        if name != "UTC" and (not slash or region in ("posix", "right")):
            raise ValueError
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidPolicy(
            f"timezone {name[:80]!r} is not known: use UTC or an IANA name such as Europe/Berlin"
        ) from None


def window_bounds(window: str, timezone: str, at: datetime) -> tuple[datetime | None, datetime | None]:
    """Start (inclusive) and end (exclusive), in UTC, of the window that contains `at`.

    `(None, None)` for a lifetime and for a rolling window.

    An hour is an hour of elapsed time, so the repeated hour of an autumn night is two windows. A day runs from
    local midnight to local midnight: 23, 24 or 25 hours; of two midnights the first counts. Where the clock moves by
    half an hour, the hour next to the change is returned as a whole hour and includes the remaining half.
    """
    if window == Window.LIFETIME or rolling_length(window):
        return None, None
    local = at.astimezone(zone(timezone))
    if window == Window.HOUR:
        start = at.astimezone(UTC) - timedelta(
            minutes=local.minute, seconds=local.second, microseconds=local.microsecond
        )
        return start, start + timedelta(hours=1)
    midnight = local.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
    if window == Window.MONTH:
        midnight = midnight.replace(day=1)
        following = (midnight + timedelta(days=32)).replace(day=1)
    elif window == Window.WEEK:
        midnight -= timedelta(days=midnight.weekday())
        following = midnight + timedelta(days=7)
    else:
        following = midnight + timedelta(days=1)
    return midnight.astimezone(UTC), following.astimezone(UTC)
