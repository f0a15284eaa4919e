"""Parsing of durations, times, dollar amounts, models and tags on the command line."""

import re
from collections.abc import Iterable
from datetime import datetime

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


def moment(text: str | None) -> str | None:
    """Check a time such as `2026-11-20T18:00:00Z`; None stays None. Any other text, or no time zone, is bad usage."""
    if text is None:
        return None
    try:
        zone = datetime.fromisoformat(text).tzinfo
    except ValueError:
        zone = None
    if zone is None:
        raise typer.BadParameter(f"{text[:40]!r} is not a time with its zone: write it as 2026-11-20T18:00:00Z")
    return text


def nano_usd(text: str | None) -> int | None:
    """Parse dollars such as `0.25` into nano-dollars; None stays None. Anything else is bad usage."""
    if text is None:
        return None
    try:
        return parse_dollars(text)
    except InvalidRequest as error:
        raise typer.BadParameter(str(error)) from None


def model_name(text: str | None) -> str | None:
    """Check the name of a model; None stays None. What cannot be one is bad usage."""
    from purser.activities.models.names import check_model_name

    try:
        return None if text is None else check_model_name(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def tags_by_name(texts: Iterable[str]) -> dict[str, str]:
    """Parse tags such as `team=search`. Anything else, and a second value of one name, is bad usage."""
    tags: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or name in tags:
            raise typer.BadParameter(f"{text[:80]!r} is not a tag of its own: write NAME=VALUE, each name once")
        tags[name] = value
    return tags
