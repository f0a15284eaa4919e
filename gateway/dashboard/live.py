"""Live parts of a page: refreshed on events, and at regular intervals in any case."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

import structlog
from markupsafe import Markup

from purser.budget.errors import LedgerUnavailable
from purser.gateway.dashboard.components import component
from purser.gateway.dashboard.visit import Visit

EVERY_S = 15.0
"""Interval after which a part is refreshed without an event."""
RETRY_S = 2.0
"""Pause after a failure."""
GAP_S = 0.15
"""Minimum pause between two refreshes of one part."""
FIRST_WITHIN_S = 2.0
"""How long a page waits for its content before it is sent without; the content then follows."""
SIGNED_IN_FOR_S = 5.0
"""Interval at which a page checks that its sign-in is still valid."""
LEDGER_DOWN = component(
    "banner", "The ledger does not answer.", "Nothing was changed; figures may be old. Trying again"
)
FAILED = component("banner", "A part of this page could not be read.", "The log says why; trying again …")

_log = structlog.get_logger(__name__)


class Live:
    """Keeps one open page up to date."""

    def __init__(self, visit: Visit) -> None:
        self.visit = visit
        self.trouble = visit.screen.region()
        """The region that shows a failure while it lasts."""
        self._failing: dict[object, Markup] = {}
        self._checked_at = 0.0

    async def follow(
        self, kinds: Sequence[str], refresh: Callable[[], Awaitable[None]], *, every_s: float = EVERY_S
    ) -> None:
        """While the page is open, calls `refresh` now, on every event of one of `kinds`, and every `every_s` seconds.

        Returns once the first call has ended, at the latest after `FIRST_WITHIN_S`: show a loading state before.

        Args:
            kinds: kinds of events.
            refresh: reads and shows; it never runs twice at a time. An error that it raises is shown on the page, and
                the call is repeated.
            every_s: maximum interval in seconds.
        """
        await self.start(kinds, refresh, every_s=every_s).first()

    def start(
        self, kinds: Sequence[str], refresh: Callable[[], Awaitable[None]], *, every_s: float = EVERY_S
    ) -> "Part":
        """Does what `follow` does without waiting for the first call."""
        part = Part(self, kinds, refresh, every_s)
        self.visit.page.spawn(part.run())
        return part

    def report(self, part: object, problem: Markup | None) -> None:
        """Shows that a part failed, or with `None` that it works again."""
        if problem is None:
            self._failing.pop(part, None)
        else:
            self._failing[part] = problem
        self.trouble.show(next(iter(self._failing.values()), Markup()))

    async def signed_in(self) -> bool:
        """Whether the caller is still signed in; reloads the page if not."""
        now = asyncio.get_running_loop().time()
        if now - self._checked_at < SIGNED_IN_FOR_S:
            return True
        if await self.visit.caller_now() is None:
            self.visit.screen.reload()
            return False
        self._checked_at = now
        return True


class Part:
    """One live part of an open page."""

    def __init__(
        self, live: Live, kinds: Sequence[str], refresh: Callable[[], Awaitable[None]], every_s: float
    ) -> None:
        self._live = live
        self._kinds = kinds
        self._refresh = refresh
        self._every_s = every_s
        self._due = asyncio.Event()
        self._reading = asyncio.Lock()
        self._shown = asyncio.Event()
        """Set once the content or a failure is shown."""

    async def first(self) -> None:
        """Waits until the content or a failure is shown, at most `FIRST_WITHIN_S`."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._shown.wait(), FIRST_WITHIN_S)

    def request_refresh(self) -> None:
        """Requests a refresh without waiting for it."""
        self._due.set()

    async def run(self) -> None:
        """Refreshes on events and at intervals until it is cancelled."""
        listening = asyncio.create_task(self._listen())
        try:
            while True:
                self._due.clear()
                pause = self._every_s if await self.refresh() else RETRY_S
                await asyncio.sleep(GAP_S)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._due.wait(), pause)
        finally:
            listening.cancel()
            await asyncio.wait((listening,))

    async def refresh(self) -> bool:
        """Refreshes and waits for it; returns whether that succeeded. A failure is shown on the page."""
        problem = None
        try:
            async with self._reading:
                if await self._live.signed_in():
                    await self._refresh()
        except LedgerUnavailable:
            problem = LEDGER_DOWN
        except Exception:
            _log.exception("a part of a dashboard page could not be read", page=self._live.visit.path)
            problem = FAILED
        self._live.report(self, problem)
        self._shown.set()
        return problem is None

    async def _listen(self) -> None:
        visit = self._live.visit
        while True:
            try:
                async with visit.services.feed.subscribe(visit.tenant, self._kinds) as events:
                    async for _ in events:
                        self._due.set()
            except Exception as error:
                _log.warning("the event feed broke; subscribing again", error=type(error).__name__)
            await asyncio.sleep(RETRY_S)
            self._due.set()
