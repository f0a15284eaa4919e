"""Amounts on the command line."""

import re
from decimal import Decimal

import typer

from budget.policies import MAX_AMOUNT

_USD = re.compile(r"\d{1,9}(\.\d{1,9})?")


def nano_usd(text: str | None) -> int | None:
    """Dollars such as `0.25` as nano-dollars; None stays None. Anything else is bad usage."""
    if text is None:
        return None
    if not _USD.fullmatch(text):
        raise typer.BadParameter(f"{text[:40]!r} is no amount: write dollars with at most 9 decimals, for example 0.25")
    nano = int(Decimal(text) * 10**9)
    if nano > MAX_AMOUNT:
        raise typer.BadParameter(f"{text!r} is too much: at most {MAX_AMOUNT // 10**9} dollars")
    return nano
