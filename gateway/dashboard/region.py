"""A part of a page that is shown as markup and changes in place: what a person types or has focused stays."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from markupsafe import Markup


@dataclass(frozen=True, slots=True)
class Act:
    """Something that a person did in a region."""

    name: str
    """`data-act` of what was clicked or of the form that was sent; `key` for a shortcut."""
    data: Mapping[str, str] = field(default_factory=dict)
    """Its other `data-…` attributes; for a shortcut `key`."""
    fields: Mapping[str, str] = field(default_factory=dict)
    """What a form held."""


Handler = Callable[[Act], Awaitable[None]]


class Region:
    """Markup that morphs into new markup: children are matched by `data-key`, inputs keep what was typed.

    A click on anything with `data-act`, or sending a form that has it, calls the handler. A form with `data-reset` in
    its new markup, and another value of it than before, is emptied.
    """

    def __init__(self, part_id: str, content: Markup, keys: Sequence[str], changed: Callable[["Region"], None]) -> None:
        """Use `Screen.region`."""
        self.part_id = part_id
        self.content = content
        self.keys = keys
        """Shortcuts that are handed to the handler while nobody types."""
        self.handler: Handler | None = None
        self._changed = changed

    def show(self, content: Markup) -> None:
        """Changes what is shown; nothing is sent if it is the same."""
        if self.content != content:
            self.content = content
            self._changed(self)

    def on_act(self, handler: Handler) -> Self:
        """Sets what is called when a person does something here; what goes wrong is told to them."""
        self.handler = handler
        return self
