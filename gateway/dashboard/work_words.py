"""Words and small marks that the pages of work share."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from markupsafe import Markup

from gateway.dashboard.markup import NOTHING, join, tag

TONES: Mapping[str, str] = {
    "running": "busy",
    "paused": "warn",
    "waiting_approval": "warn",
    "completed": "good",
    "partial": "warn",
    "refused": "bad",
    "failed": "bad",
    "pending": "warn",
    "approved": "good",
    "denied": "bad",
    "expired": "bad",
    "held": "busy",
    "settled": "good",
    "presumed": "bad",
    "started": "busy",
    "reported": "good",
}
"""How states are coloured; the others are plain."""


def words(code: str) -> str:
    """A code as people write it: `waiting_approval` as `waiting for approval`."""
    return "waiting for approval" if code == "waiting_approval" else code.replace("_", " ")


def state(code: str) -> Markup:
    """The state of a task, an agent, a hold or a request."""
    return tag(words(code), TONES.get(code, ""))


def lasting(seconds: float) -> str:
    """A span of time: `0.4 s`, `12 s`, `3 min 4 s`, `2 h 5 min`."""
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


def took(start: datetime, end: datetime) -> Markup:
    """How long something took."""
    return Markup('<span class="num">{}</span>').format(lasting(max(0.0, (end - start).total_seconds())))


def definition(name: str, value: Markup | str) -> Markup:
    """A name and its value in a list of facts; nothing where there is no value."""
    return Markup("<div><dt>{}</dt><dd>{}</dd></div>").format(name, value) if value else NOTHING


def long_text(text: str, *, lines: int = 3, most: int = 8_000, more: str = "") -> Markup:
    """A text of others, as text and nothing else: short ones as they are, long ones behind their beginning.

    Args:
        text: whatever it is.
        lines: shown while it is closed.
        most: characters shown at all.
        more: where the rest can be had, if there is a rest.
    """
    shown = text[:most]
    rest = Markup('<p class="note">{} more characters are not shown.{}</p>').format(f"{len(text) - most:,}", f" {more}")
    tail = rest if len(text) > most else NOTHING
    if len(text) <= 90 * lines and text.count("\n") < lines:
        return Markup('<p class="said">{}</p>').format(text)
    begin = " ".join(text[: 90 * lines].split())
    return Markup(
        '<details class="said"><summary><span>{}…</span></summary><pre tabindex="0">{}</pre>{}</details>'
    ).format(begin, shown, tail)


def table(label: str, columns: Sequence[str], rows: Iterable[Markup], css: str = "") -> Markup:
    """A table that scrolls sideways by itself where the window is narrow.

    Args:
        label: what it lists.
        columns: names; of figures with a `#` before.
        rows: of `row`.
        css: further classes.
    """
    head = join(
        Markup('<th scope="col" class="{}">{}</th>').format(
            "num" if name.startswith("#") else "", name.removeprefix("#")
        )
        for name in columns
    )
    return Markup(
        '<div class="scroll" role="region" aria-label="{}" tabindex="0"><table class="rows {}">'
        "<thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>"
    ).format(label, css, head, join(rows))


def row(key: str, head: Markup | str, *cells: Markup, css: str = "") -> Markup:
    """A row of a table: `key` names it among the others, `head` says what it is about."""
    return Markup('<tr data-key="{}" class="{}"><th scope="row">{}</th>{}</tr>').format(key, css, head, join(cells))


def cell(content: Markup | str, css: str = "") -> Markup:
    """A cell."""
    return Markup('<td class="{}">{}</td>').format(css, content)


def figure(content: Markup | str) -> Markup:
    """A cell with a figure."""
    return Markup('<td class="num">{}</td>').format(content)


def by(content: Markup | str) -> Markup:
    """What stands small below something."""
    return Markup('<span class="by">{}</span>').format(content) if content else NOTHING


def section(title: str, body: Markup, *, note: Markup | str = "") -> Markup:
    """A part of a page with its heading."""
    told = Markup('<p class="note">{}</p>').format(note) if note else NOTHING
    return Markup('<section class="card"><h2>{}</h2>{}{}</section>').format(title, told, body)
