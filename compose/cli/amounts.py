"""Parsing of durations and dollar amounts on the command line."""

import re

import typer

from purser.budget.errors import InvalidRequest
from purser.budget.money import parse_dollars
from purser.gateway.access.roles import MAX_KEY_LIFE_S

_DURATION = re.compile(r"([1-9]\d{0,8})([smhdw])")
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def seconds(text: str | None) -> int | None:
    """Parse a duration such as `12h` or `30d` into seconds; None stays None. Anything else is bad usage."""
    if text is None:
        return None
    if not (found := _DURATION.fullmatch(text)):
        raise typer.BadParameter(f"{text[:40]!r} is not a duration: write a number and s, m, h, d or w, such as 30d")
    duration = int(found[1]) * _SECONDS[found[2]]
    if duration > MAX_KEY_LIFE_S:
        raise typer.BadParameter(f"{text!r} is too long: at most {MAX_KEY_LIFE_S // _SECONDS['d']}d")
    return duration


def nano_usd(text: str | None) -> int | None:
    """Parse dollars such as `0.25` into nano-dollars; None stays None. Anything else is bad usage."""
    if text is None:
        return None
    try:
        return parse_dollars(text)
    except InvalidRequest as error:
        raise typer.BadParameter(str(error)) from None
