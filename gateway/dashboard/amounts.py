"""Parses amounts and times that people type."""

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from purser.budget.errors import InvalidRequest
from purser.budget.money import parse_dollars
from purser.budget.policies import MAX_AMOUNT
from purser.gateway.dashboard.actions import Refused

_COUNT = re.compile(r"(\d+(?:\.\d+)?)\s*([kKmM]?)")
_LETTERS = {"": 1, "k": 10**3, "m": 10**6}


def count(text: str, what: str) -> int | None:
    """Tokens such as `3500`, `3,500`, `3.5k` or `2M`; `None` if nothing was typed.

    Raises:
        Refused: it is not an amount.
    """
    plain = re.sub(r"[\s,_']", "", text)
    if not plain:
        return None
    found = _COUNT.fullmatch(plain)
    if found is None:
        raise Refused(f"{what}: “{text[:40]}” is not an amount. Write 3500, 3,500, 3.5k or 2M.")
    value = Decimal(found[1]) * _LETTERS[found[2].lower()]
    if value != value.to_integral_value() or value > MAX_AMOUNT:
        raise Refused(f"{what}: “{text[:40]}” is not a whole number of tokens up to {MAX_AMOUNT:,}.")
    return int(value)


def nano_usd(text: str, what: str) -> int | None:
    """Dollars such as `0.25` or `$1,200` as nano-dollars; `None` if nothing was typed.

    Raises:
        Refused: it is not an amount.
    """
    plain = re.sub(r"[\s,_']", "", text)
    if not plain:
        return None
    try:
        return parse_dollars(plain.removeprefix("$"))
    except InvalidRequest:
        message = f"{what}: “{text[:40]}” is not an amount. Write dollars with at most 9 decimals, such as 0.25."
        raise Refused(message) from None


def end(choice: str, at: str, now: datetime) -> datetime | None:
    """When a grant ends. `choice` is minutes from now, `at` for the time in `at`, or empty for the end of the window.

    Raises:
        Refused: it is not a time in the future.
    """
    if not choice:
        return None
    if choice.isdecimal() and len(choice) < 7:
        return now + timedelta(minutes=int(choice))
    try:
        until = datetime.fromisoformat(at)
    except ValueError:
        raise Refused("Until: choose a day and a time.") from None
    until = until if until.tzinfo else until.replace(tzinfo=UTC)
    if until <= now:
        raise Refused("Until: choose a time in the future.")
    return until
