"""Parses amounts, times and texts that people type."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Self

from purser.budget.errors import InvalidRequest
from purser.budget.money import parse_dollars
from purser.gateway.dashboard.actions import Refused
from purser.wire.limits import MAX_AMOUNT

# Separators only between groups of three digits: the comma of `0,25` is a decimal comma, and leaving it out multiplies.
_NUMBER = r"((?:[1-9]\d{0,2}([\s,_'])\d{3}(?:\2\d{3})*|\d+)(?:\.\d+)?)"
_COUNT = re.compile(rf"{_NUMBER}\s*([kKmM]?)")
_DOLLARS = re.compile(rf"\$?\s*{_NUMBER}")
_LETTERS = {"": 1, "k": 10**3, "m": 10**6}
MOST_SEARCHED = 128
"""Longest text to search for."""


def count(text: str, what: str) -> int | None:
    """Tokens such as `3500`, `3,500`, `3.5k` or `2M`; `None` if nothing was typed.

    Raises:
        Refused: it is not an amount; the dot of `50.000` may separate thousands, and is taken before `k` and `M` only.
    """
    if not text.strip():
        return None
    found = _COUNT.fullmatch(text.strip())
    if found is None or ("." in found[1] and not found[3]):
        raise Refused(f"{what}: “{text[:40]}” is not an amount. Write 3500, 3,500, 3.5k or 2M.")
    value = Decimal(_ungrouped(found[1])) * _LETTERS[found[3].lower()]
    if value != value.to_integral_value() or value > MAX_AMOUNT:
        raise Refused(f"{what}: “{text[:40]}” is not a whole number of tokens up to {MAX_AMOUNT:,}.")
    return int(value)


def nano_usd(text: str, what: str) -> int | None:
    """Dollars such as `0.25` or `$1,200` as nano-dollars; `None` if nothing was typed.

    Raises:
        Refused: it is not an amount.
    """
    if not text.strip():
        return None
    found = _DOLLARS.fullmatch(text.strip())
    try:
        return parse_dollars(_ungrouped(found[1]) if found else "")
    except InvalidRequest:
        message = f"{what}: “{text[:40]}” is not an amount. Write dollars with at most 9 decimals, such as 0.25."
        raise Refused(message) from None


def _ungrouped(number: str) -> str:
    return re.sub(r"[\s,_']", "", number)


def end(choice: str, at: str, now: datetime) -> datetime | None:
    """When a grant ends. `choice` is minutes from now, `at` for the time in `at`, or empty for the end of the window.

    Raises:
        Refused: it is not a time in the future.
    """
    if not choice:
        return None
    if choice.isdecimal() and len(choice) < 7:
        return now + timedelta(minutes=int(choice))
    until = instant(at)
    if until is None:
        raise Refused("Until: choose a day and a time.")
    if until <= now:
        raise Refused("Until: choose a time in the future.")
    return until


def instant(text: str) -> datetime | None:
    """A time as people and links write it, in UTC unless it names another offset; `None` if it is not valid."""
    try:
        at = datetime.fromisoformat(text.strip())
        return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None


def plain_text(text: str, most: int = MOST_SEARCHED) -> str:
    """A text without spaces around it and without NUL, which Postgres cannot store, cut to `most` characters."""
    return text.replace("\0", "").strip()[:most]


@dataclass(frozen=True, slots=True)
class TimeRange:
    """A time range in the URL of a page."""

    since: datetime | None = None
    until: datetime | None = None
    faults: tuple[str, ...] = ()
    """Messages about times that are not valid; these are ignored."""

    @classmethod
    def read(cls, since: str, until: str) -> Self:
        """Parses the parameters `from` and `to`."""
        begin, end = instant(since), instant(until)
        faults = [
            f"The time “{name}” is not valid: write it like 2026-11-20T18:00."
            for name, text, at in (("from", since, begin), ("to", until, end))
            if text.strip() and at is None
        ]
        if begin and end and end < begin:
            faults.append("The end of the time range is before its start.")
            end = None
        return cls(begin, end, tuple(faults))

    @property
    def query(self) -> dict[str, str | None]:
        """Its parameters for a URL."""
        return {
            name: f"{at.replace(tzinfo=None).isoformat(timespec='seconds')}Z" if at else None
            for name, at in (("from", self.since), ("to", self.until))
        }

    @property
    def typed(self) -> dict[str, str]:
        """Its values for inputs of a form, by the name of the parameter."""
        return {
            name: at.replace(tzinfo=None).isoformat(timespec="minutes") if at else ""
            for name, at in (("from", self.since), ("to", self.until))
        }


WHENEVER = TimeRange()
"""No time range."""
