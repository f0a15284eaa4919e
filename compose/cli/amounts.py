"""Amounts and spans of time on the command line."""

import re
from decimal import Decimal

import typer

from budget.policies import MAX_AMOUNT
from gateway.roles import MAX_KEY_LIFE_S

_USD = re.compile(r"\d{1,9}(\.\d{1,9})?")
_SPAN = re.compile(r"([1-9]\d{0,8})([smhdw])")
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def seconds(text: str | None) -> int | None:
    """A span such as `12h` or `30d` as seconds; None stays None. Anything else is bad usage."""
    if text is None:
        return None
    if not (found := _SPAN.fullmatch(text)):
        raise typer.BadParameter(f"{text[:40]!r} is no span of time: write a number and s, m, h, d or w, such as 30d")
    span = int(found[1]) * _SECONDS[found[2]]
    if span > MAX_KEY_LIFE_S:
        raise typer.BadParameter(f"{text!r} is too long: at most {MAX_KEY_LIFE_S // _SECONDS['d']}d")
    return span


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
