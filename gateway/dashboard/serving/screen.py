"""The content of one open page, and the updates that its browser has not received yet.

Every update of a page has a number. A browser requests the updates after the last number that it received: nothing is
lost while its connection is broken, and a slow browser gets only the newest markup of each part.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from purser.gateway.dashboard.actions import explain
from purser.gateway.dashboard.charts import Chart
from purser.gateway.dashboard.region import Act, Region

MAX_EVENTS = 20
"""One-time updates, such as toasts, that are retained for a browser whose connection is broken."""


@dataclass(frozen=True, slots=True)
class Update:
    """One update for the browser; `assets/purser.js` handles each kind."""

    number: int
    kind: str
    data: dict[str, Any]


class Screen:
    """The parts of one open page, and its updates."""

    def __init__(self) -> None:
        self.number = 0
        """Number of the last update."""
        self._regions: dict[str, Region] = {}
        self._charts = 0
        self._newest: dict[str, Update] = {}
        self._events: deque[Update] = deque(maxlen=MAX_EVENTS)
        self._changed = asyncio.Event()
        self._listener: object | None = None

    # --- content ------------------------------------------------------------------------------------------------------

    def region(self, content: Markup | None = None, *, keys: Sequence[str] = ()) -> Region:
        """A new region.

        Args:
            content: empty until something is shown.
            keys: shortcut keys that call its handler, except while the person types in a field.
        """
        made = Region(f"r{len(self._regions)}", content or Markup(), keys, self._region_changed)
        self._regions[made.part_id] = made
        return made

    def chart(self, label: str, *, height: int = 260) -> Chart:
        """A new chart.

        Args:
            label: text for screen readers.
            height: height in pixels.
        """
        self._charts += 1
        return Chart(f"c{self._charts}", label, height, self._chart_changed)

    def title(self, text: str) -> None:
        """Changes the title of the window."""
        self._replace("title", "title", {"text": text})

    def _region_changed(self, region: Region) -> None:
        self._replace("region", region.part_id, {"id": region.part_id, "markup": region.content})

    def _chart_changed(self, chart: Chart) -> None:
        self._replace("chart", chart.part_id, chart.shown())

    # --- one-time updates ---------------------------------------------------------------------------------------------

    def toast(self, text: str, *, good: bool = True) -> None:
        """Shows a short message at the edge of the page, also to screen readers."""
        self._append("toast", text=text, good=good)

    def reveal(self, selector: str, *, focus: bool = False, least: int = 0, below: int | None = None) -> None:
        """Scrolls an element into view, in windows of at least `least` and less than `below` pixels."""
        self._append("reveal", selector=selector, focus=focus, least=least, below=below)

    def address(self, path: str) -> None:
        """Changes the URL of the page without loading it again."""
        self._append("address", path=path)

    def press(self, selector: str) -> None:
        """Submits a form by one of its buttons, with its fields; the act's data then has `key`."""
        self._append("press", selector=selector)

    def notify(self, title: str, text: str, approval_id: str) -> None:
        """Shows a desktop notification that opens an approval request, if the person has turned them on."""
        self._append("notify", title=title, text=text, id=approval_id)

    def reload(self) -> None:
        """Loads the page again."""
        self._append("reload")

    # --- browsers -----------------------------------------------------------------------------------------------------

    async def act(self, part_id: str, act: Act) -> None:
        """Calls the handler of a region for an act of a person; unknown regions are ignored."""
        region = self._regions.get(part_id)
        if region is None or region.handler is None:
            return
        try:
            await region.handler(act)
        except Exception as error:
            self.toast(explain(error), good=False)

    async def updates(self, after: int) -> AsyncGenerator[Update]:
        """All updates after a number, until another listener starts or `end` is called."""
        listener = self._listener = object()
        self._wake()
        while self._listener is listener:
            changed = self._changed
            for one in sorted((*self._newest.values(), *self._events), key=lambda one: one.number):
                if one.number > after:
                    yield one
                    after = one.number
            await changed.wait()

    def end(self) -> None:
        """Ends the listener."""
        self._listener = None
        self._wake()

    def _replace(self, kind: str, part: str, data: dict[str, Any]) -> None:
        self.number += 1
        self._newest[part] = Update(self.number, kind, data)
        self._wake()

    def _append(self, kind: str, **data: Any) -> None:
        self.number += 1
        self._events.append(Update(self.number, kind, data))
        self._wake()

    def _wake(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
