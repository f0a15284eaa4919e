"""Dollars as people read and type them; everything counts in nano-dollars."""

import re
from decimal import Decimal

from purser.budget.errors import InvalidRequest
from purser.budget.policies import MAX_AMOUNT

NANO = 10**9
"""Nano-dollars in a dollar."""
_DOLLARS = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")


def dollars(nano_usd: int, decimals: int = 9) -> str:
    """For people, such as `$1,234.50` or `-$0.000007`: cents, and as many further digits as count.

    Args:
        nano_usd: of either sign.
        decimals: shown at most, 2 to 9; the last one is rounded.
    """
    whole, _, part = f"{Decimal(abs(nano_usd)) / NANO:,.{decimals}f}".partition(".")
    return f"{'-' if nano_usd < 0 else ''}${whole}.{part.rstrip('0').ljust(2, '0')}"


def typed_dollars(nano_usd: int) -> str:
    """As somebody would type them, such as `1234.5`: every digit that counts, nothing else."""
    return f"{Decimal(nano_usd) / NANO:.9f}".rstrip("0").rstrip(".")


def parse_dollars(text: str) -> int:
    """Nano-dollars; the inverse of `typed_dollars`.

    Raises:
        InvalidRequest: the text is no decimal number, has more than nine decimals, or is more than an amount can be.
    """
    if not _DOLLARS.fullmatch(text):
        raise InvalidRequest(f"{text[:40]!r} is no amount: write dollars with at most 9 decimals, for example 0.25")
    nano = int(Decimal(text) * NANO)
    if nano > MAX_AMOUNT:
        raise InvalidRequest(f"{text!r} is too much: at most {MAX_AMOUNT // NANO} dollars")
    return nano
