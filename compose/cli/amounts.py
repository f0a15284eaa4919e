"""Amounts and spans of time on the command line."""

import re

import typer

from purser.budget.errors import InvalidRequest
from purser.budget.money import parse_dollars
from purser.gateway.access.roles import MAX_KEY_LIFE_S

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
    try:
        return parse_dollars(text)
    except InvalidRequest as error:
        raise typer.BadParameter(str(error)) from None
