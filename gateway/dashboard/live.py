"""Parts of a page that follow what happens: read again on events, and from time to time in any case."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

import structlog
from markupsafe import Markup

from purser.budget.errors import LedgerUnavailable
from purser.gateway.dashboard.components import component
from purser.gateway.dashboard.visit import Visit

EVERY_S = 15.0
"""A part is read again after so long even if nothing was heard."""
AGAIN_S = 2.0
"""After a failure."""
GAP_S = 0.15
"""Between two readings of one part, however much happens."""
FIRST_WITHIN_S = 2.0
"""A page is sent with its content if that comes so soon, else without, and the content follows."""
SIGNED_IN_FOR_S = 5.0
"""How often a page makes sure that its sign-in still holds."""
LEDGER_AWAY = component(
    "banner", "The ledger does not answer.", "Nothing was changed; figures may be old. Trying again"
)
FAILED = component("banner", "A part of this page could not be read.", "The log says why; trying again …")

_log = structlog.get_logger(__name__)


class Live:
    """What keeps one opened page up to date."""

    def __init__(self, visit: Visit) -> None:
        self.visit = visit
        self.trouble = visit.screen.region()
        """Where a failure is told until it is over."""
        self._failing: dict[object, Markup] = {}
        self._checked_at = 0.0

    async def follow(
        self, kinds: Sequence[str], refresh: Callable[[], Awaitable[None]], *, every_s: float = EVERY_S
    ) -> None:
        """While the page is open, calls `refresh` now, on every event of one of `kinds`, and every `every_s` seconds.

        Returns once the first call has shown something, or after a moment without: show a loading state before.

        Args:
            kinds: of events.
            refresh: reads and shows; it never runs twice at a time. What it raises is told in the page, and tried
                again.
            every_s: at least so often.
        """
        await self.start(kinds, refresh, every_s=every_s).first()

    def start(
        self, kinds: Sequence[str], refresh: Callable[[], Awaitable[None]], *, every_s: float = EVERY_S
    ) -> "Part":
        """As `follow`, without waiting for the first call."""
        part = Part(self, kinds, refresh, every_s)
        self.visit.page.spawn(part.run())
        return part

    def told(self, part: object, problem: Markup | None) -> None:
        """A part failed, or works again."""
        if problem is None:
            self._failing.pop(part, None)
        else:
            self._failing[part] = problem
        self.trouble.show(next(iter(self._failing.values()), Markup()))

    async def signed_in(self) -> bool:
        """Whether the caller may go on looking; leaves the page if not."""
        now = asyncio.get_running_loop().time()
        if now - self._checked_at < SIGNED_IN_FOR_S:
            return True
        if await self.visit.caller_now() is None:
            self.visit.screen.reload()
            return False
        self._checked_at = now
        return True


class Part:
    """One part of an open page."""

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
        """Set once something was shown, be it that it cannot be read."""

    async def first(self) -> None:
        """Waits until something was shown, or a moment."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._shown.wait(), FIRST_WITHIN_S)

    def now(self) -> None:
        """Reads again at once: somebody has just changed something here."""
        self._due.set()

    async def again(self) -> None:
        """Reads again and waits for it; what goes wrong is told in the page."""
        await self._read()

    async def run(self) -> None:
        """Follows until it is cancelled."""
        listening = asyncio.create_task(self._listen())
        try:
            while True:
                self._due.clear()
                pause = self._every_s if await self._read() else AGAIN_S
                await asyncio.sleep(GAP_S)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._due.wait(), pause)
        finally:
            listening.cancel()
            await asyncio.wait((listening,))

    async def _read(self) -> bool:
        problem = None
        try:
            async with self._reading:
                if await self._live.signed_in():
                    await self._refresh()
        except LedgerUnavailable:
            problem = LEDGER_AWAY
        except Exception:
            _log.exception("a part of a page could not be read", page=self._live.visit.path)
            problem = FAILED
        self._live.told(self, problem)
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
                _log.warning("events were lost and are waited for again", error=type(error).__name__)
            await asyncio.sleep(AGAIN_S)
            self._due.set()
