"""The open pages: each belongs to the browser session that opened it."""

import asyncio
import secrets
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from purser.budget.errors import NotFound
from purser.gateway.dashboard.region import Act
from purser.gateway.dashboard.serving.screen import Screen
from purser.gateway.errors import GatewayStopping

RECONNECT_WITHIN_S = 30.0
"""How long the state of a page is retained after its connection broke."""
MAX_UNFOLLOWED = 20
"""Pages of one browser session that are retained while no browser follows them."""


class OpenPage:
    """One open page, and the tasks that run for it."""

    def __init__(self, session_id: str, forget: Callable[["OpenPage"], None]) -> None:
        self.page_id = secrets.token_urlsafe(16)
        self.session_id = session_id
        self.screen = Screen()
        self._forget = forget
        self._tasks: set[asyncio.Task[None]] = set()
        self._acting = asyncio.Lock()
        self._streams = 0
        self._timer: asyncio.TimerHandle | None = None
        self.wait()

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Runs a coroutine as long as the page is open."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def act(self, part_id: str, act: Act) -> None:
        """Handles an act of a person; one act after the other."""
        async with self._acting:
            await self.screen.act(part_id, act)

    @property
    def is_followed(self) -> bool:
        """Whether a browser follows the page."""
        return self._streams > 0

    @contextmanager
    def streaming(self) -> Iterator[None]:
        """Marks the page as followed by a browser until the end of the context."""
        self._streams += 1
        self._cancel_timer()
        try:
            yield
        finally:
            self._streams -= 1
            if not self._streams:
                self.wait()

    def wait(self) -> None:
        """Waits `RECONNECT_WITHIN_S` for a browser, then closes the page."""
        self._cancel_timer()
        self._timer = asyncio.get_running_loop().call_later(RECONNECT_WITHIN_S, self._forget, self)

    def close(self) -> None:
        """Ends everything that runs for the page."""
        self._cancel_timer()
        self.screen.end()
        for task in self._tasks:
            task.cancel()

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


class OpenPages:
    """The open pages of one gateway."""

    def __init__(self) -> None:
        self._pages: dict[str, OpenPage] = {}
        self._closed = False

    def open(self, session_id: str) -> OpenPage:
        """A new page of a browser session. Closes the oldest of those that no browser follows, if they are too many."""
        own = (page for page in self._pages.values() if page.session_id == session_id and not page.is_followed)
        for page in list(own)[: -(MAX_UNFOLLOWED - 1)]:
            self._forget(page)
        page = OpenPage(session_id, self._forget)
        self._pages[page.page_id] = page
        return page

    def find(self, page_id: str, session_id: str) -> OpenPage:
        """A page of a browser session.

        Raises:
            NotFound: it belongs to another session, or does not exist: the answer is the same.
            GatewayStopping: all pages were closed. A script that learns this keeps its page and what is typed there;
                on `NotFound` it loads the page again.
        """
        if self._closed:
            raise GatewayStopping
        page = self._pages.get(page_id)
        if page is None or page.session_id != session_id:
            raise NotFound("this page is not open any more: load it again")
        return page

    async def close_after(self, stop: asyncio.Event) -> None:
        """Closes all pages once `stop` is set."""
        await stop.wait()
        self._closed = True
        for page in list(self._pages.values()):
            self._forget(page)

    def _forget(self, page: OpenPage) -> None:
        self._pages.pop(page.page_id, None)
        page.close()
