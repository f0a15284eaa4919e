"""Renders pages: Jinja templates with every value escaped, and the components that pages share.

A line break between two tags of a template is layout, not a space.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from purser.gateway.dashboard import formats

TEMPLATES = Path(__file__).parent / "templates"
TONES: Mapping[str, str] = {
    # tasks, agents, holds and attempts
    "running": "busy",
    "paused": "warn",
    "waiting_approval": "warn",
    "completed": "good",
    "partial": "warn",
    "refused": "bad",
    "failed": "bad",
    "held": "busy",
    "settled": "good",
    "started": "busy",
    "reported": "good",
    # approval requests
    "pending": "warn",
    "approved": "good",
    "denied": "bad",
    "expired": "bad",
    # entries of the ledger
    "settle": "good",
    "hold": "busy",
    "top_up": "busy",
    "overrun": "bad",
    "presumed": "bad",
    "expire": "bad",
    "late": "warn",
    "correction": "warn",
    "grant": "good",
    # pressure of a budget
    "low": "good",
    "high": "warn",
    "critical": "bad",
}
"""Colours of states and kinds; others are plain."""
_BETWEEN_TAGS = re.compile(r">\s*\n\s*<")


def render(template: str, **values: object) -> Markup:
    """Renders a template of `templates/`.

    Raises:
        UndefinedError: the template uses a value that is not given.
    """
    return Markup(_BETWEEN_TAGS.sub("><", _environment.get_template(template).render(values)))


def component(name: str, *args: object, **values: object) -> Markup:
    """Renders one macro of `components.html`."""
    made = getattr(_environment.get_template("components.html").module, name)(*args, **values)
    return Markup(_BETWEEN_TAGS.sub("><", made).strip())


@dataclass(frozen=True, slots=True)
class Piece:
    """A segment of a bar, in percent of its width."""

    name: str
    left: str
    width: str = ""


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar that shows how much of a limit is used."""

    tone: str
    label: str
    """Text for screen readers."""
    pieces: tuple[Piece, ...]


def bar(spent: int, held: int, limit: int | None, granted: int = 0, asked: int = 0, *, unit: str = "tokens") -> Bar:
    """A bar of a limit: spent, then held, then asked; the limit is a tick, grants are tinted.

    Without a limit the bar is empty.
    """
    exact = formats.exact
    facts = [f"{exact(spent)} {unit} spent", f"{exact(held)} held"]
    facts += [f"{exact(asked)} asked"] if asked else []
    facts += ["no limit"] if limit is None else [f"limit {exact(limit)}"]
    facts += [f"{exact(granted)} granted"] if granted else []
    if limit is None:
        return Bar("free", ", ".join(facts), ())
    capacity = limit + granted
    whole = max(capacity, spent + held + asked, 1)
    sizes = (("granted", limit, granted), ("spent", 0, spent), ("held", spent, held), ("asked", spent + held, asked))
    pieces = [Piece(name, _share(left, whole), _share(size, whole)) for name, left, size in sizes if size > 0]
    if spent + held + asked > capacity:
        pieces.append(Piece("tick", _share(capacity, whole)))
    used = (spent + held) * 100
    tone = "full" if used >= capacity * 95 else "high" if used >= capacity * 80 else ""
    return Bar(tone, ", ".join(facts), tuple(pieces))


def _share(part: int, whole: int) -> str:
    return f"{part * 10_000 // whole / 100:.2f}"


def _environment_of_pages() -> Environment:
    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for form in ("short", "exact", "dollars", "percent", "words", "utc", "duration_text"):
        made.filters[form] = getattr(formats, form)
    made.filters["plain_json"] = json.dumps
    made.filters["tone"] = lambda code: TONES.get(code, "")
    made.globals |= {"between": formats.between, "address": formats.address, "plural": formats.plural}
    return made


_environment = _environment_of_pages()
LOADING = component("loading")
"""Placeholder for a list that is loading."""
