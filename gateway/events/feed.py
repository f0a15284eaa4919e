"""Events as they happen: one reader of the table in each process, and any number of subscribers.

A subscriber first reads pages of the table up to where the reader stands, then joins it: without a gap, and without an
event twice. One that is slower than the events goes back to the pages, so none is lost and little is kept in memory.
LISTEN and NOTIFY are not used: a pooler that keeps no session loses them.
"""

import asyncio
from collections import OrderedDict, defaultdict, deque
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from enum import StrEnum

from purser.activities.background import repeat
from purser.budget.errors import LedgerUnavailable
from purser.budget.postgres.events.events import BATCH, Event, Events
from purser.budget.scopes import Kind, Scope

EVERY_S = 0.2
"""Between two looks at the table while somebody subscribes."""
IDLE_S = 1.0
"""The same while nobody does: others, such as webhooks, continue from positions too."""
MAX_BACKOFF_S = 5.0
READ = 250
"""Events that the reader hands round before it lets others run."""
PAGE = 500
PAGERS = 4
"""Subscribers that read pages at the same time: requests need connections too."""
BUFFER = 1_000
"""Events that wait for one subscriber at most."""


class Gap(StrEnum):
    """Why a subscriber cannot continue from exactly where it left."""

    FORGOTTEN = "forgotten"
    """Events after its position have been deleted by retention: it continues with the oldest there is."""
    AHEAD = "ahead"
    """Nothing has this position yet, as after a restored backup: it continues with what comes."""


class Subscription(AsyncIterator[Event]):
    """The events of one tenant, for one listener: `async for event in subscription`. Ends when the feed does."""

    def __init__(
        self,
        feed: "Feed",
        tenant: str,
        kinds: Collection[str] | None,
        scopes: Collection[Scope] | None,
        after: int | None,
    ) -> None:
        self.tenant = tenant
        self.gap: Gap | None = None
        """Set where it could not continue from exactly where it left."""
        self._feed = feed
        self._kinds = None if kinds is None else sorted(set(kinds))
        self._scopes = None if scopes is None else sorted({str(scope) for scope in scopes})
        self._events: deque[Event] = deque()
        self._read = feed.position if after is None else after
        self._live = after is None
        self._ended = False
        self._news = asyncio.Event()

    async def __anext__(self) -> Event:
        while not self._ended:
            if self._events:
                return self._events.popleft()
            if not self._live:
                await self._catch_up()
            else:
                self._news.clear()
                await self._news.wait()
        raise StopAsyncIteration

    def end(self) -> None:
        """No more events, from now on."""
        self._ended = True
        self._news.set()

    def offer(self, event: Event) -> None:
        """Takes in what the reader has read; one that does not fit any more is read again later."""
        # Another process may have shown it what this one reads only now.
        if not self._live or event.position <= self._read or not self._wants(event):
            return
        if len(self._events) == BUFFER:
            self._live = False
            return
        self._events.append(event)
        self._read = event.position
        self._news.set()

    async def _catch_up(self) -> None:
        until = self._feed.position
        if self._read >= until:
            # The reader offers all that follows: nothing runs between its position and this line.
            self._live = True
            return
        try:
            page = await self._feed.page(self.tenant, self._read, until, self._kinds, self._scopes)
        except LedgerUnavailable:
            await asyncio.sleep(MAX_BACKOFF_S / 2)
            return
        self._events.extend(page)
        self._read = page[-1].position if len(page) == PAGE else until

    def _wants(self, event: Event) -> bool:
        if self._kinds is not None and event.kind not in self._kinds:
            return False
        return self._scopes is None or any(name in self._scopes for name in _names(event.scope))


class Feed:
    """The events of all tenants, as far as this process has read them."""

    def __init__(self, events: Events) -> None:
        self.position = 0
        """What the reader has handed round."""
        self._events = events
        self._subscriptions: defaultdict[str, set[Subscription]] = defaultdict(set)
        self._encoded: OrderedDict[int, bytes] = OrderedDict()
        self._poked = asyncio.Event()
        self._began = asyncio.Event()
        self._pagers = asyncio.Semaphore(PAGERS)
        self._closed = False

    @property
    def subscribers(self) -> int:
        """How many listen right now."""
        return sum(map(len, self._subscriptions.values()))

    def poke(self) -> None:
        """Something was just committed: look now."""
        self._poked.set()

    @asynccontextmanager
    async def subscribe(
        self,
        tenant: str,
        kinds: Collection[str] | None = None,
        after: int | None = None,
        *,
        scopes: Collection[Scope] | None = None,
    ) -> AsyncIterator[Subscription]:
        """Listens to the events of one tenant.

        Args:
            tenant: whose events.
            kinds: only these; `None`: all.
            after: continue behind this position; `None`: with what happens from now on.
            scopes: only of these; a task stands for its agents too.

        Raises:
            LedgerUnavailable
        """
        await self._began.wait()
        gap = None if after is None else await self._gap(tenant, after)
        own = Subscription(self, tenant, kinds, scopes, None if gap is Gap.AHEAD else after)
        own.gap = gap
        if self._closed:
            own.end()
        self._subscriptions[tenant].add(own)
        self._poked.set()
        try:
            yield own
        finally:
            self._subscriptions[tenant].discard(own)
            if not self._subscriptions[tenant]:
                del self._subscriptions[tenant]

    async def run(self, stop: asyncio.Event) -> None:
        """Reads until `stop`, then ends every subscription. While Postgres is away it tries again, ever less often."""
        try:
            await repeat("events", self._step, stop, self._pause_s, self._poked, max_backoff_s=MAX_BACKOFF_S)
        finally:
            self.close()

    def close(self) -> None:
        """Ends every subscription, and those that come later."""
        self._closed = True
        self._began.set()
        for subscription in [one for group in self._subscriptions.values() for one in group]:
            subscription.end()

    def encoded(self, event: Event, encode: Callable[[Event], bytes]) -> bytes:
        """What `encode` makes of an event, made once for all subscribers that are about equally far."""
        known = self._encoded.get(event.position)
        if known is None:
            known = self._encoded[event.position] = encode(event)
            if len(self._encoded) > BUFFER:
                self._encoded.popitem(last=False)
        return known

    async def page(
        self, tenant: str, after: int, until: int, kinds: Sequence[str] | None, scopes: Sequence[str] | None
    ) -> list[Event]:
        """The next `PAGE` events of a tenant, from the table."""
        async with self._pagers:
            return await self._events.page(tenant, after, until, kinds=kinds, scopes=scopes, limit=PAGE)

    async def _step(self) -> None:
        while await self._events.number() == BATCH:
            pass
        if not self._subscriptions:
            newest = await self._events.newest()
            # Who has subscribed meanwhile is owed what lies between.
            if not self._subscriptions:
                self.position = newest
        self._began.set()
        while self._subscriptions:
            events = await self._events.after(self.position, READ)
            for event in events:
                for subscription in self._subscriptions.get(event.tenant, ()):
                    subscription.offer(event)
                self.position = event.position
            if len(events) < READ:
                return
            await asyncio.sleep(0)

    def _pause_s(self) -> float:
        return EVERY_S if self._subscriptions else IDLE_S

    async def _gap(self, tenant: str, after: int) -> Gap | None:
        if after < await self._events.forgotten(tenant):
            return Gap.FORGOTTEN
        # Another process may have read further than this one.
        if after > self.position and after > await self._events.newest():
            return Gap.AHEAD
        return None


def _names(scope: str | None) -> Sequence[str]:
    """The scopes that stand for a scope in a filter: itself, and the task of an agent."""
    if scope is None:
        return ()
    kind, _, name = scope.partition(":")
    return (scope, f"{Kind.TASK}:{name.partition('/')[0]}") if kind == Kind.AGENT else (scope,)
