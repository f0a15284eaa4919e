"""HTML that people read: every value is escaped by `Markup.format`, figures are short and exact ones a hover away."""

from collections.abc import Iterable
from datetime import UTC, datetime
from urllib.parse import quote, urlencode

from markupsafe import Markup

from budget.decisions import Amount
from budget.money import NANO
from budget.money import dollars as plain_dollars
from budget.scopes import Scope
from budget.views import whole_percent

NOTHING = Markup()
_STEPS = ((10**12, "T"), (10**9, "B"), (10**6, "M"), (10**3, "k"))


def join(parts: Iterable[Markup | str], between: str = "") -> Markup:
    """Parts one after the other, escaped where they are plain text."""
    return Markup(between).join(parts)


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
    """Nano-dollars as dollars: cents, and below a cent the first two digits that count."""
    size = abs(nano_usd)
    decimals = max(2, 11 - len(str(size))) if 0 < size < NANO else 2
    return plain_dollars(nano_usd, decimals).replace("-", "−")


def tokens(count: int) -> Markup:
    """A short count of tokens, with the exact one on hover."""
    return Markup('<span class="num" title="{} tokens">{}</span>').format(exact(count), short(count))


def money(nano_usd: int) -> Markup:
    """A sum, with the exact one on hover."""
    return Markup('<span class="num" title="{} nano-dollars">{}</span>').format(exact(nano_usd), dollars(nano_usd))


def amount(value: Amount) -> Markup:
    """Tokens and money, whichever there is: `3,500 tokens · $0.02`."""
    parts = []
    if value.tokens or not value.nano_usd:
        figure = Markup('<span class="num">{}</span> {}')
        parts.append(figure.format(exact(value.tokens), plural(value.tokens, "token")))
    if value.nano_usd:
        parts.append(money(value.nano_usd))
    return join(parts, " · ")


def plural(count: int, word: str, many: str = "") -> str:
    """The word for so many things, without the number."""
    return word if count == 1 else many or f"{word}s"


def percent(ratio: float | None) -> str:
    """A share of a limit, cut to whole percents; `—` where there is no limit to share."""
    return "—" if ratio is None else f"{whole_percent(ratio)} %"


def moment(at: datetime, form: str = "minute") -> Markup:
    """A point in time in the reader's own zone, UTC until the page's script has run.

    Args:
        at: when.
        form: `minute`, `second` or `day`.
    """
    plain = at.astimezone(UTC).strftime({"day": "%Y-%m-%d"}.get(form, "%Y-%m-%d %H:%M UTC"))
    return Markup('<time datetime="{}" data-form="{}">{}</time>').format(at.isoformat(), form, plain)


def left(until: datetime) -> Markup:
    """A live countdown to `until`."""
    return Markup('<time class="left num" datetime="{}" data-form="left">{}</time>').format(
        until.isoformat(), until.astimezone(UTC).strftime("%H:%M UTC")
    )


def ago(at: datetime) -> Markup:
    """How long ago, live."""
    return Markup('<time datetime="{}" data-form="ago">{}</time>').format(
        at.isoformat(), at.astimezone(UTC).strftime("%H:%M UTC")
    )


def scope_name(scope: Scope | str) -> Markup:
    """A scope as its kind and its id."""
    kind, _, name = str(scope).partition(":")
    return Markup('<span class="scope" title="{}"><span class="kind">{}</span>{}</span>').format(str(scope), kind, name)


def link(href: str, text: Markup | str, css: str = "") -> Markup:
    """A link to a page of ours."""
    return Markup('<a href="{}" class="{}">{}</a>').format(href, css, text)


def outside(href: str, text: str) -> Markup:
    """A link to somebody else's page, in a tab of its own."""
    return Markup('<a href="{}" target="_blank" rel="noopener noreferrer" class="outside">{}</a>').format(href, text)


def address(path: str, **query: str | None) -> str:
    """A path of ours with its query; what is `None` is left out."""
    given = {name: value for name, value in query.items() if value is not None}
    return quote(path) + (f"?{urlencode(given)}" if given else "")


def tag(text: str, tone: str = "") -> Markup:
    """A small label. Tones: none, `good`, `warn`, `bad`, `busy`."""
    return Markup('<span class="tag {}">{}</span>').format(tone, text)


def table(label: str, heads: Markup, rows: Iterable[Markup], css: str = "") -> Markup:
    """A table that scrolls sideways where it does not fit.

    Args:
        label: what it lists, for people who do not see it.
        heads: the cells of its head.
        rows: its other rows.
        css: its class.
    """
    return Markup(
        '<div class="scroll" tabindex="0" role="group" aria-label="{}"><table class="{}"><thead><tr>{}</tr></thead>'
        "<tbody>{}</tbody></table></div>"
    ).format(label, css, heads, join(rows))


def empty(title: str, text: Markup | str = "") -> Markup:
    """What a list shows that has nothing in it."""
    return Markup('<div class="empty"><p class="empty-title">{}</p><p>{}</p></div>').format(title, text)


LOADING = Markup('<div class="loading" role="status"><span class="sr">Loading</span><i></i><i></i><i></i></div>')
"""Stands where a list will be."""


def bar(spent: int, held: int, limit: int | None, granted: int = 0, asked: int = 0, *, words: str = "tokens") -> Markup:
    """How a limit is used: spent, then held, then what is asked; the limit is a tick, what was granted a tint.

    Without a limit the bar is empty.
    """
    capacity = None if limit is None else limit + granted
    whole = max(capacity or 0, spent + held + asked, 1)
    parts = [
        _piece("granted", limit or 0, granted, whole) if granted and limit is not None else NOTHING,
        _piece("spent", 0, spent, whole),
        _piece("held", spent, held, whole),
        _piece("asked", spent + held, asked, whole),
    ]
    if limit is None:  # there is nothing to fill
        parts = []
    if capacity is not None and spent + held + asked > capacity:
        parts.append(Markup('<i class="tick" style="left:{}%"></i>').format(_share(capacity, whole)))
    told = [f"{exact(spent)} {words} spent", f"{exact(held)} held"]
    told += [f"{exact(asked)} asked"] if asked else []
    told += ["no limit"] if limit is None else [f"limit {exact(limit)}"]
    told += [f"{exact(granted)} granted"] if granted else []
    tone = _tone(spent + held, capacity)
    return Markup('<span class="bar {}" role="img" aria-label="{}">{}</span>').format(
        tone, ", ".join(told), join(parts)
    )


def _piece(name: str, start: int, size: int, whole: int) -> Markup:
    if size <= 0:
        return NOTHING
    return Markup('<i class="{}" style="left:{}%;width:{}%"></i>').format(
        name, _share(start, whole), _share(size, whole)
    )


def _share(part: int, whole: int) -> str:
    return f"{part * 10_000 // whole / 100:.2f}"


def _tone(used: int, capacity: int | None) -> str:
    if capacity is None:
        return "free"
    if used * 100 >= capacity * 95:
        return "full"
    return "high" if used * 100 >= capacity * 80 else ""
