"""Pages that somebody has open: each belongs to the browser session that opened it."""

import asyncio
import secrets
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from purser.budget.errors import NotFound
from purser.gateway.dashboard.region import Act
from purser.gateway.dashboard.screen import Screen

RECONNECT_WITHIN_S = 30.0
"""How long a page whose connection broke finds everything as it left it."""


class OpenPage:
    """One open page, and what runs for it."""

    def __init__(self, session_id: str, forget: Callable[["OpenPage"], None]) -> None:
        self.page_id = secrets.token_urlsafe(16)
        self.session_id = session_id
        self.screen = Screen()
        self._forget = forget
        self._tasks: set[asyncio.Task[None]] = set()
        self._turn = asyncio.Lock()
        self._streams = 0
        self._timer: asyncio.TimerHandle | None = None
        self.wait()

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Runs something for as long as the page is open."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def act(self, part_id: str, act: Act) -> None:
        """A person did something; one act after the other."""
        async with self._turn:
            await self.screen.act(part_id, act)

    @contextmanager
    def streaming(self) -> Iterator[None]:
        """A browser follows the page until the end of the block."""
        self._streams += 1
        self._rest()
        try:
            yield
        finally:
            self._streams -= 1
            if not self._streams:
                self.wait()

    def wait(self) -> None:
        """Waits for a browser, for a while."""
        self._rest()
        self._timer = asyncio.get_running_loop().call_later(RECONNECT_WITHIN_S, self._forget, self)

    def close(self) -> None:
        """Ends everything that runs for the page."""
        self._rest()
        self.screen.end()
        for task in self._tasks:
            task.cancel()

    def _rest(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


class OpenPages:
    """The open pages of one gateway."""

    def __init__(self) -> None:
        self._pages: dict[str, OpenPage] = {}

    def open(self, session_id: str) -> OpenPage:
        """A new page of a browser session."""
        page = OpenPage(session_id, self._forget)
        self._pages[page.page_id] = page
        return page

    def find(self, page_id: str, session_id: str) -> OpenPage:
        """A page of a browser session.

        Raises:
            NotFound: it is another's, or there is none: nobody learns which.
        """
        page = self._pages.get(page_id)
        if page is None or page.session_id != session_id:
            raise NotFound("this page is not open any more: load it again")
        return page

    async def close_after(self, stop: asyncio.Event) -> None:
        """Closes all pages once `stop` is set."""
        await stop.wait()
        for page in list(self._pages.values()):
            self._forget(page)

    def _forget(self, page: OpenPage) -> None:
        self._pages.pop(page.page_id, None)
        page.close()
