"""Regions: parts of a page whose markup changes in place, while input and focus are preserved."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from markupsafe import Markup


@dataclass(frozen=True, slots=True)
class Act:
    """An act of a person in a region."""

    name: str
    """`data-act` of the clicked element or the submitted form; `key` for a shortcut."""
    data: Mapping[str, str] = field(default_factory=dict)
    """Its other `data-…` attributes; for a shortcut `key` is the key."""
    fields: Mapping[str, str] = field(default_factory=dict)
    """The fields of a form."""


Handler = Callable[[Act], Awaitable[None]]


class Region:
    """Markup that morphs into new markup: children are matched by `data-key`, inputs keep what was typed.

    A click on an element with `data-act`, or submitting a form that has it, calls the handler. A form is reset when its
    `data-reset` changes.
    """

    def __init__(self, part_id: str, content: Markup, keys: Sequence[str], changed: Callable[["Region"], None]) -> None:
        """Use `Screen.region`."""
        self.part_id = part_id
        self.content = content
        self.keys = keys
        """Shortcut keys that call the handler, except while the person types in a field."""
        self.handler: Handler | None = None
        self._changed = changed

    def show(self, content: Markup) -> None:
        """Changes the content; nothing is sent if it is the same."""
        if self.content != content:
            self.content = content
            self._changed(self)

    def on_act(self, handler: Handler) -> Self:
        """Sets the handler of acts in this region; errors that it raises are shown to the person."""
        self.handler = handler
        return self
