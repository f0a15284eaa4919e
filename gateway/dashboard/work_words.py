"""Words and small marks that the pages of work share."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime

from markupsafe import Markup
from nicegui import ui

from gateway.dashboard.markup import NOTHING, join, tag
from gateway.dashboard.region import Act
from gateway.problems import problem_of

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
        columns: names; of figures with a `#` before; empty over buttons.
        rows: of `row`.
        css: further classes.
    """
    head = join(
        Markup('<th scope="col" class="{}"><span class="{}">{}</span></th>').format(
            "num" if name.startswith("#") else "", "" if name else "sr", name.removeprefix("#") or "Actions"
        )
        for name in columns
    )
    return Markup(
        '<div class="scroll" role="region" aria-label="{}" tabindex="0"><table class="listing {}">'
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


def button(
    act: str, text: str, *, label: str = "", css: str = "plain", opened: bool | None = None, **data: object
) -> Markup:
    """A button that a region hands to its handler.

    Args:
        act: name of what it does.
        text: on it.
        label: the same in full, where the text alone does not tell what it is about.
        css: its classes.
        opened: of a button that opens something, whether that is open.
        data: what the handler gets.
    """
    attributes = {f"data-{name}": value for name, value in data.items()}
    attributes |= {"aria-label": label} if label else {}
    attributes |= {} if opened is None else {"aria-expanded": str(opened).lower()}
    told = join(Markup(' {}="{}"').format(name, value) for name, value in attributes.items())
    return Markup('<button type="button" class="{}" data-act="{}"{}>{}</button>').format(css, act, told, text)


def pane(label: str, body: Markup) -> Markup:
    """A column that scrolls by itself."""
    return Markup('<div class="pane" tabindex="0" role="region" aria-label="{}">{}</div>').format(label, body)


def heading(text: str) -> Markup:
    """Of a part of a page, or the name of what the page is about."""
    return Markup('<h2 class="name">{}</h2>').format(text)


def told_problem(error: Exception) -> str:
    """An error of ours as a person is told it; raises what is no problem but a fault."""
    problem = problem_of(error)
    if problem is None:
        raise error
    return f"{problem.detail[:1].upper()}{problem.detail[1:].rstrip('.')}. {problem.remedy or ''}".strip()


def telling(handler: Callable[[Act], Awaitable[None]]) -> Callable[[Act], Awaitable[None]]:
    """What a person did, with the problems that it meets told to them."""

    async def told(act: Act) -> None:
        try:
            await handler(act)
        except Exception as error:
            toast(told_problem(error))

    return told


def toast(text: str) -> None:
    """Says something for a moment."""
    ui.notify(text, classes="toast")


def section(title: str, body: Markup, *, note: Markup | str = "") -> Markup:
    """A part of a page with its heading."""
    told = Markup('<p class="note">{}</p>').format(note) if note else NOTHING
    return Markup('<section class="card"><h2>{}</h2>{}{}</section>').format(title, told, body)
