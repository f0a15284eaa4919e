"""What one open page shows, and what its browser has yet to hear of it.

Everything that happens to a page has a number. A browser asks for what came after the number that it knows: nothing is
lost while its connection is broken, and one that is slow gets the newest markup of a part, not each that was shown.
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

MOST_SAID = 20
"""Toasts and the like that wait for a browser whose connection is broken."""


@dataclass(frozen=True, slots=True)
class News:
    """One thing that a page has to hear. `assets/purser.js` says what it does with each kind."""

    number: int
    kind: str
    data: dict[str, Any]


class Screen:
    """The parts of one open page, and its news."""

    def __init__(self) -> None:
        self.number = 0
        """Of what happened last."""
        self._regions: dict[str, Region] = {}
        self._charts = 0
        self._newest: dict[str, News] = {}
        self._said: deque[News] = deque(maxlen=MOST_SAID)
        self._changed = asyncio.Event()
        self._listener: object | None = None

    # --- what is shown ------------------------------------------------------------------------------------------------

    def region(self, content: Markup | None = None, *, keys: Sequence[str] = ()) -> Region:
        """A new region.

        Args:
            content: empty until something is shown.
            keys: shortcuts that are handed to its handler while nobody types.
        """
        made = Region(f"r{len(self._regions)}", content or Markup(), keys, self._region_changed)
        self._regions[made.part_id] = made
        return made

    def chart(self, label: str, *, height: int = 260) -> Chart:
        """A new chart.

        Args:
            label: what it shows, for people who do not see it.
            height: in pixels.
        """
        self._charts += 1
        return Chart(f"c{self._charts}", label, height, self._chart_changed)

    def title(self, text: str) -> None:
        """Changes the title of the window."""
        self._note("title", "title", {"text": text})

    def _region_changed(self, region: Region) -> None:
        self._note("region", region.part_id, {"id": region.part_id, "markup": region.content})

    def _chart_changed(self, chart: Chart) -> None:
        self._note("chart", chart.part_id, chart.shown())

    # --- what happens once --------------------------------------------------------------------------------------------

    def toast(self, text: str, *, good: bool = True) -> None:
        """A short message at the edge of the page, read out too."""
        self._say("toast", text=text, good=good)

    def reveal(self, selector: str, *, focus: bool = False, least: int = 0, below: int | None = None) -> None:
        """Scrolls something into sight, in windows of at least `least` and less than `below` pixels."""
        self._say("reveal", selector=selector, focus=focus, least=least, below=below)

    def address(self, path: str) -> None:
        """Changes the address of the page, which stays as it is."""
        self._say("address", path=path)

    def press(self, selector: str) -> None:
        """Presses a button of a form, with what the form holds; its act has `key` then."""
        self._say("press", selector=selector)

    def reload(self) -> None:
        """Loads the page again."""
        self._say("reload")

    # --- browsers -----------------------------------------------------------------------------------------------------

    async def act(self, part_id: str, act: Act) -> None:
        """A person did something in a region; unknown ones are ignored."""
        region = self._regions.get(part_id)
        if region is None or region.handler is None:
            return
        try:
            await region.handler(act)
        except Exception as error:
            self.toast(explain(error), good=False)

    async def news(self, after: int) -> AsyncGenerator[News]:
        """What came and comes after a number, until somebody else listens or `end`."""
        listener = self._listener = object()
        self._wake()
        while self._listener is listener:
            changed = self._changed
            for one in sorted((*self._newest.values(), *self._said), key=lambda one: one.number):
                if one.number > after:
                    yield one
                    after = one.number
            await changed.wait()

    def end(self) -> None:
        """Ends what listens."""
        self._listener = None
        self._wake()

    def _note(self, kind: str, part: str, data: dict[str, Any]) -> None:
        self.number += 1
        self._newest[part] = News(self.number, kind, data)
        self._wake()

    def _say(self, kind: str, **data: Any) -> None:
        self.number += 1
        self._said.append(News(self.number, kind, data))
        self._wake()

    def _wake(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
