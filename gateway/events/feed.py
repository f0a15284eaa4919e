"""The live event feed: one reader of the table in each process, and any number of subscribers.

A subscriber first reads pages of the table up to the reader's position, then joins the reader, without gaps and without
duplicates. A subscriber that falls behind goes back to reading pages, so no event is lost and memory stays bounded.
LISTEN and NOTIFY are not used: a pooler in transaction mode loses them.
"""

import asyncio
from collections import OrderedDict, defaultdict, deque
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from purser.activities.runtime.background import repeat
from purser.budget.errors import LedgerUnavailable
from purser.budget.postgres.events.events import BATCH, Event, Events
from purser.budget.scopes import Kind, Scope

EVERY_S = 0.2
"""Seconds between two reads of the table while there are subscribers."""
IDLE_S = 1.0
"""Seconds between two reads without subscribers: positions are assigned for other readers, such as webhooks, too."""
MAX_BACKOFF_S = 5.0
READ = 250
"""Events that the reader reads at a time."""
SLICE = 50
"""Subscribers that are offered events before the event loop does other work: requests would wait for a thousand."""
PAGE = 500
PAGERS = 4
"""Subscribers that may read pages at the same time: requests need connections too."""
BUFFER = 1_000
"""Most events buffered for one subscriber."""


class Gap(StrEnum):
    """Why a subscriber cannot resume exactly where it left off."""

    FORGOTTEN = "forgotten"
    """Retention has deleted events after its position: it resumes with the oldest available event."""
    AHEAD = "ahead"
    """Its position has not been assigned, as after a restore or failover that lost events: it resumes with new ones."""


@dataclass(frozen=True, slots=True)
class Start:
    """Where a subscription begins."""

    position: int
    """Its events are those after this position."""
    gap: Gap | None
    """Set if that is not exactly where the subscriber left off."""


class Subscription(AsyncIterator[Event]):
    """The events of one tenant for one subscriber: `async for event in subscription`. Ends when the feed does.

    It also ends, with `gap` set, when Postgres has lost events that this feed has read.
    """

    def __init__(
        self,
        feed: "Feed",
        tenant: str,
        kinds: Collection[str] | None,
        scopes: Collection[Scope] | None,
        start: Start | None,
    ) -> None:
        self.tenant = tenant
        self.gap: Gap | None = None
        self._feed = feed
        self._kinds = None if kinds is None else sorted(set(kinds))
        self._scopes = None if scopes is None else sorted({str(scope) for scope in scopes})
        self._events: deque[Event] = deque()
        self._read = feed.position if start is None else start.position
        self._live = start is None
        self._ended = False
        self._wakeup = asyncio.Event()

    async def __anext__(self) -> Event:
        while not self._ended:
            if self._events:
                return self._events.popleft()
            if not self._live:
                await self._catch_up()
            else:
                self._wakeup.clear()
                await self._wakeup.wait()
        raise StopAsyncIteration

    def take(self, most: int) -> list[Event]:
        """Removes at most `most` events from the buffer."""
        return [self._events.popleft() for _ in range(min(most, len(self._events)))]

    def end(self, gap: Gap | None = None) -> None:
        """Ends the subscription; `gap`: because its position is not valid any more."""
        self.gap = gap
        self._ended = True
        self._wakeup.set()

    def offer(self, event: Event) -> None:
        """Buffers an event from the reader; if the buffer is full, the event is read from the table later."""
        # The client may have received this event from another process already.
        if not self._live or event.position <= self._read or not self._wants(event):
            return
        if len(self._events) == BUFFER:
            self._live = False
            return
        self._events.append(event)
        self._read = event.position
        self._wakeup.set()

    async def _catch_up(self) -> None:
        until = self._feed.position
        if self._read >= until:
            # The reader offers all later events: no other code runs between reading its position and this line.
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
    """The events of all tenants, up to the position that this process has read."""

    def __init__(self, events: Events) -> None:
        self.position = 0
        """Position up to which the reader has distributed events."""
        self._events = events
        self._last: Event | None = None
        """The event at that position, if the reader has read one there."""
        self._subscriptions: defaultdict[str, set[Subscription]] = defaultdict(set)
        self._encoded: OrderedDict[tuple[int, datetime], bytes] = OrderedDict()
        self._poked = asyncio.Event()
        self._started = asyncio.Event()
        self._pagers = asyncio.Semaphore(PAGERS)
        self._closed = False

    @property
    def subscribers(self) -> int:
        """Number of current subscriptions."""
        return sum(map(len, self._subscriptions.values()))

    def poke(self) -> None:
        """Makes the reader read now, because an event was just committed."""
        self._poked.set()

    async def start(self, tenant: str, after: int | None) -> Start:
        """Where a subscriber begins that resumes after a position; `None`: with new events.

        Raises:
            LedgerUnavailable
        """
        await self._started.wait()
        await self._follow_newest()
        if self._subscriptions:
            while await self._read(1) is None:  # whoever begins after events were lost is not ended for it
                pass
        gap = None if after is None else await self._gap(tenant, after)
        return Start(self.position if after is None or gap is Gap.AHEAD else after, gap)

    @asynccontextmanager
    async def subscribe(
        self,
        tenant: str,
        kinds: Collection[str] | None = None,
        start: Start | None = None,
        *,
        scopes: Collection[Scope] | None = None,
    ) -> AsyncIterator[Subscription]:
        """Subscribes to the events of one tenant.

        Args:
            tenant: tenant of the events.
            kinds: only events of these kinds; `None`: all.
            start: where to begin; `None`: with new events.
            scopes: only events of these scopes; a scope includes its further limits, a task its agents.
        """
        await self._started.wait()
        own = Subscription(self, tenant, kinds, scopes, start)
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
        """Reads until `stop`, then ends all subscriptions. Retries with backoff while Postgres is unavailable."""
        try:
            await repeat("events", self._step, stop, self._pause_s, self._poked, max_backoff_s=MAX_BACKOFF_S)
        finally:
            self.close()

    def close(self) -> None:
        """Ends all subscriptions, including later ones."""
        self._closed = True
        self._started.set()
        self._end_all(None)

    def encoded(self, event: Event, encode: Callable[[Event], bytes]) -> bytes:
        """Encodes an event, once for all subscribers at about the same position."""
        key = event.position, event.at  # a failover that loses events gives their positions to others
        known = self._encoded.get(key)
        if known is None:
            known = self._encoded[key] = encode(event)
            if len(self._encoded) > BUFFER:
                self._encoded.popitem(last=False)
        return known

    async def page(
        self, tenant: str, after: int, until: int, kinds: Sequence[str] | None, scopes: Sequence[str] | None
    ) -> list[Event]:
        """Reads the next `PAGE` events of a tenant from the table."""
        async with self._pagers:
            return await self._events.page(tenant, after, until, kinds=kinds, scopes=scopes, limit=PAGE)

    async def _step(self) -> None:
        while await self._events.number() == BATCH:
            pass
        await self._follow_newest()
        self._started.set()
        while self._subscriptions:
            read = await self._read(READ)
            if read is None:
                continue
            events = [event for event in read if event.position > self.position]
            self._last = read[-1] if read else None
            if events:
                # First of all: whoever joins from here on reads these events from the table.
                self.position = events[-1].position
                await self._offer(events)
            if len(read) < READ:
                return

    async def _follow_newest(self) -> None:
        """Goes to the newest event, forward or back, while there are no subscribers."""
        if not self._subscriptions:
            newest = await self._events.newest()
            # A subscriber that joined meanwhile must get the events in between.
            if not self._subscriptions:
                self.position, self._last = newest, None

    async def _read(self, most: int) -> list[Event] | None:
        """Reads the last event again, and those after it; `None`: the position has changed meanwhile.

        If Postgres has lost the last one, positions are used again: goes to the newest, and ends the subscriptions.
        """
        known = self.position, self._last
        read = await self._events.after(self.position - 1, most)
        newest = await self._events.newest() if await self._is_lost(read) else None
        if known != (self.position, self._last):
            return None
        if newest is not None:
            self.position, self._last = newest, None
            self._end_all(Gap.AHEAD)
            return None
        return read

    async def _is_lost(self, read: Sequence[Event]) -> bool:
        """Whether Postgres has lost the last event, and retention has not deleted it; `read` begins where it was."""
        if not read:
            return await self._events.newest() < self.position
        if self._last in (None, read[0]):
            return False
        return read[0].position == self.position or await self._events.newest_forgotten() < self.position

    def _end_all(self, gap: Gap | None) -> None:
        for subscription in [one for group in self._subscriptions.values() for one in group]:
            subscription.end(gap)

    async def _offer(self, events: Sequence[Event]) -> None:
        """Offers events to their subscribers, to a few of them at a time: each that wakes up writes at once."""
        by_tenant: defaultdict[str, list[Event]] = defaultdict(list)
        for event in events:
            by_tenant[event.tenant].append(event)
        for tenant, own in by_tenant.items():
            subscriptions = list(self._subscriptions.get(tenant, ()))
            for start in range(0, len(subscriptions), SLICE):
                for subscription in subscriptions[start : start + SLICE]:
                    for event in own:
                        subscription.offer(event)
                await asyncio.sleep(0)

    def _pause_s(self) -> float:
        return EVERY_S if self._subscriptions else IDLE_S

    async def _gap(self, tenant: str, after: int) -> Gap | None:
        if after < await self._events.forgotten(tenant):
            return Gap.FORGOTTEN
        # Another process may have read more than this one.
        if after > self.position and after > await self._events.newest():
            return Gap.AHEAD
        return None


def _names(scope: str | None) -> Sequence[str]:
    """The scopes whose filter includes a scope: itself, that of a further limit, and for an agent its task."""
    if scope is None:
        return ()
    base = scope.partition("@")[0]
    kind, _, name = base.partition(":")
    task = (f"{Kind.TASK}:{name.partition('/')[0]}",) if kind == Kind.AGENT else ()
    return (scope, base, *task)
