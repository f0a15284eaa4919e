"""A part of a page that is shown as markup and changes in place: what a person types or has focused stays."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from markupsafe import Markup
from nicegui import events, ui

from purser.gateway.dashboard.actions import explain, toast


@dataclass(frozen=True, slots=True)
class Act:
    """Something that a person did in a region."""

    name: str
    """`data-act` of what was clicked or of the form that was sent; `key` for a shortcut."""
    data: Mapping[str, str] = field(default_factory=dict)
    """Its other `data-…` attributes; for a shortcut `key`."""
    fields: Mapping[str, str] = field(default_factory=dict)
    """What a form held."""


class Region(ui.element, component="assets/region.js"):
    """Markup that morphs into new markup: children are matched by `data-key`, inputs keep what was typed.

    A click on anything with `data-act`, or sending a form that has it, calls the handler. A form with `data-reset` in
    its new markup, and another value of it than before, is emptied.
    """

    def __init__(self, content: str = "", tag: str = "div", *, keys: Sequence[str] = ()) -> None:
        """Args:
        content: escaped markup, never text of others; empty until something is shown.
        tag: of the element around it.
        keys: shortcuts that are handed to the handler while nobody types.
        """
        super().__init__()
        self._props["tag"] = tag
        self._props["content"] = str(content)
        self._props["keys"] = list(keys)

    def show(self, content: Markup) -> None:
        """Changes what is shown; nothing is sent if it is the same."""
        if self._props["content"] != str(content):
            self._props["content"] = str(content)
            self.update()

    def on_act(self, handler: Callable[[Act], Awaitable[None]]) -> Self:
        """Sets what is called when a person does something here; what goes wrong is told to them."""

        async def handle(event: events.GenericEventArguments) -> None:
            given: dict[str, Any] = event.args if isinstance(event.args, dict) else {}
            try:
                await handler(Act(str(given.get("name", "")), _texts(given.get("data")), _texts(given.get("fields"))))
            except Exception as error:
                toast(explain(error), good=False)

        self.on("act", handle)
        return self


def _texts(given: object) -> dict[str, str]:
    """What the browser sent, as text: it may have been made up."""
    return {str(name): str(value) for name, value in given.items()} if isinstance(given, dict) else {}
