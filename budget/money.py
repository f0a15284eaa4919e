"""Dollar amounts as text; the code itself counts in nano-dollars."""

import re
from decimal import Decimal

from purser.budget.errors import InvalidRequest
from purser.wire.limits import MAX_AMOUNT

NANO = 10**9
"""Nano-dollars in a dollar."""
DOLLARS = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")
"""What `parse_dollars` reads."""


def dollars(nano_usd: int, decimals: int = 9) -> str:
    """Formats an amount for display, such as `$1,234.50` or `-$0.000007`: cents, then all significant digits.

    Args:
        nano_usd: the amount, which may be negative.
        decimals: most decimals to display, 2 to 9; the last one is rounded.
    """
    whole, _, part = f"{Decimal(abs(nano_usd)) / NANO:,.{decimals}f}".partition(".")
    return f"{'-' if nano_usd < 0 else ''}${whole}.{part.rstrip('0').ljust(2, '0')}"


def typed_dollars(nano_usd: int) -> str:
    """Formats an amount for an input field, such as `1234.5`: all significant digits and nothing else."""
    return f"{Decimal(nano_usd) / NANO:.9f}".rstrip("0").rstrip(".")


def parse_dollars(text: str) -> int:
    """Parses dollars into nano-dollars; the inverse of `typed_dollars`.

    Raises:
        InvalidRequest: the text is not a decimal number, has more than nine decimals, or exceeds the largest amount.
    """
    if not DOLLARS.fullmatch(text):
        raise InvalidRequest(f"{text[:40]!r} is no amount: write dollars with at most 9 decimals, for example 0.25")
    nano = int(Decimal(text) * NANO)
    if nano > MAX_AMOUNT:
        raise InvalidRequest(f"{text!r} is too much: at most {MAX_AMOUNT // NANO} dollars")
    return nano
