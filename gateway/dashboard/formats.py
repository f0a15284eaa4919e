"""Formats figures, times and codes for display; templates use these as filters and functions."""

from datetime import UTC, datetime
from urllib.parse import quote, urlencode

from purser.budget.gate import Amount
from purser.budget.money import NANO
from purser.budget.money import dollars as plain_dollars
from purser.budget.reports.views import whole_percent

_STEPS = ((10**12, "T"), (10**9, "B"), (10**6, "M"), (10**3, "k"))
_PLAIN_TIMES = {"day": "%Y-%m-%d", "left": "%H:%M UTC", "ago": "%H:%M UTC"}


def short(count: int) -> str:
    """A count in three or four digits: `950`, `12.3k`, `1.20M`. Cut, never rounded up past a limit."""
    sign, rest = "−" if count < 0 else "", abs(count)
    for size, letter in _STEPS:
        if rest >= size:
            digits = 2 if rest < 10 * size else 1 if rest < 100 * size else 0
            scaled = rest * 10**digits // size
            text = f"{scaled // 10**digits}" + (f".{scaled % 10**digits:0{digits}}" if digits else "")
            return f"{sign}{text.rstrip('0').rstrip('.') if digits else text}{letter}"
    return f"{sign}{rest}"


def exact(count: int) -> str:
    """A count with every digit: `1,234,567`."""
    return f"{count:,}".replace("-", "−")


def dollars(nano_usd: int) -> str:
    """Nano-dollars as dollars: with cents, and below a cent with the first two significant digits."""
    size = abs(nano_usd)
    decimals = max(2, 11 - len(str(size))) if 0 < size < NANO else 2
    return plain_dollars(nano_usd, decimals).replace("-", "−")


def exact_dollars(nano_usd: int) -> str:
    """Nano-dollars as dollars with every digit: `$1,234.50`, `$1.0049`."""
    return plain_dollars(nano_usd).replace("-", "−")


def amount(value: Amount) -> str:
    """Tokens and money, without what is zero: `3,500 tokens · $0.02`."""
    parts = [f"{exact(value.tokens)} {plural(value.tokens, 'token')}"] if value.tokens or not value.nano_usd else []
    return " · ".join(parts + ([dollars(value.nano_usd)] if value.nano_usd else []))


def plural(count: int, word: str, many: str = "") -> str:
    """The singular or plural of a word for `count`, without the number."""
    return word if count == 1 else many or f"{word}s"


def percent(ratio: float | None) -> str:
    """A share of a limit, cut to whole percents; `—` if there is no limit."""
    return "—" if ratio is None else f"{whole_percent(ratio)} %"


def words(code: str) -> str:
    """A code in words: `waiting_approval` as `waiting for approval`."""
    return "waiting for approval" if code == "waiting_approval" else code.replace("_", " ")


def sentence(text: str) -> str:
    """An error text as a sentence: capitalized, with a full stop."""
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith((".", "!", "?")) else ".")


def utc(at: datetime, form: str) -> str:
    """A time in UTC, which the page's script replaces by the reader's own time zone.

    Args:
        at: the time.
        form: `minute`, `second`, `day`, `left` (a countdown) or `ago`.
    """
    return at.astimezone(UTC).strftime(_PLAIN_TIMES.get(form, "%Y-%m-%d %H:%M UTC"))


def duration_text(seconds: float) -> str:
    """A duration: `0.4 s`, `12 s`, `3 min 4 s`, `2 h 5 min`."""
    if seconds < 10:
        return f"{seconds:.1f} s" if seconds >= 0.05 else f"{round(seconds * 1000)} ms"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    if whole < 48 * 3600:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 86400} days"


def between(start: datetime, end: datetime) -> str:
    """The duration between two times."""
    return duration_text(max(0.0, (end - start).total_seconds()))


def address(path: str, **query: object) -> str:
    """A path of the dashboard with its query; parameters that are `None` or empty are left out."""
    given = {name: value for name, value in query.items() if value not in (None, "")}
    return quote(path) + (f"?{urlencode(given)}" if given else "")
