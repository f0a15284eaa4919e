"""Deliveries to webhooks: one for each webhook and event, sent at least once, logged."""

import uuid
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Self

import asyncpg

from purser.budget.actors import Actor
from purser.budget.errors import NotFound
from purser.budget.postgres.connections.pools import Connection, Pool, connected
from purser.budget.postgres.connections.queries import load
from purser.budget.postgres.events.events import Event, EventKind, Events
from purser.budget.postgres.ledger.policies import Policies
from purser.budget.postgres.reports.changes import record
from purser.budget.reports.views import BudgetView
from purser.budget.scopes import Scope
from purser.gateway.postgres.webhooks import Webhook, shown
from purser.gateway.webhooks.messages import is_wanted, payload

_SQL = load("purser.gateway.postgres", "deliveries.sql")
BATCH = 200
"""Events that become deliveries together."""
LEASE = timedelta(seconds=60)
"""How long a delivery is left to whoever sends it."""
_ABOUT_BUDGETS = (EventKind.APPROVAL, EventKind.THRESHOLD)


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message to one webhook, and what became of it."""

    delivery_id: int
    webhook_id: str
    position: int | None
    """Of the event; `None`: a test."""
    message_id: str
    """The same on every try: receivers know repetitions by it."""
    payload: Mapping[str, Any]
    state: str
    """`pending`, `delivered` or `failed`."""
    tries: int
    next_at: datetime
    """When a pending one is tried again."""
    status: int | None
    """HTTP status of the last try."""
    error: str | None
    """Class of the last failure."""
    duration_ms: int | None
    """Of the last try."""
    created_at: datetime
    ended_at: datetime | None

    @classmethod
    def read(cls, record: asyncpg.Record) -> Self:
        """A row of `deliveries`."""
        return cls(**{name: record[name] for name in cls.__dataclass_fields__})


@dataclass(frozen=True, slots=True)
class Parcel:
    """A delivery in the hands of its sender."""

    delivery_id: int
    webhook_id: str
    tenant: str
    message_id: str
    payload: Mapping[str, Any]
    tries: int
    """This one included."""
    url: str
    secret: str
    """Encrypted."""
    previous_secret: str | None
    """Encrypted; signs too while it is not long replaced."""

    def __repr__(self) -> str:
        return f"Parcel({self.delivery_id})"  # secrets stay out of tracebacks


class Deliveries:
    """The deliveries of all tenants. Any number of processes may make and claim at once."""

    def __init__(self, pool: Pool, policies: Policies, public_url: str) -> None:
        self._pool = pool
        self._events = Events(pool)
        self._policies = policies
        self._public_url = public_url

    async def make(self) -> bool:
        """Makes the deliveries of the next events; returns whether there may be more."""
        # Before the webhooks: one that is made in between gets every event that happens after it.
        newest = await self._events.newest()
        async with connected(self._pool, None) as own:
            place: int = await own.fetchval(_SQL["cursor"]) or 0
            hooks = [Webhook.read(found) for found in await own.fetch(_SQL["enabled"])]
        if newest <= place:
            return False
        events = await self._chosen(hooks, place, newest)
        until = events[-1].position if len(events) == BATCH else newest
        rows = await self._messages(events, hooks)
        async with connected(self._pool, None) as own, own.transaction():
            if rows:
                await own.execute(_SQL["add"], *map(list, zip(*rows, strict=True)))
            await own.execute(_SQL["advance"], until)
        return len(events) == BATCH

    async def claim(self, limit: int, busy: Collection[str]) -> list[Parcel]:
        """Takes the next due delivery of each webhook, but of those in `busy`; `LEASE` later it is due again."""
        async with connected(self._pool, None) as own:
            return [Parcel(**found) for found in await own.fetch(_SQL["claim"], limit, [*busy], LEASE)]

    async def delivered(self, parcel: Parcel, status: int, duration_ms: int) -> None:
        """It has arrived."""
        async with connected(self._pool, None) as own:
            await own.execute(_SQL["delivered"], parcel.delivery_id, status, duration_ms)

    async def failed(
        self, parcel: Parcel, error: str, status: int | None, duration_ms: int, again: timedelta | None
    ) -> None:
        """It has not arrived; it is tried again after `again`, or never."""
        async with connected(self._pool, None) as own:
            await own.execute(_SQL["failed"], parcel.delivery_id, status, duration_ms, error, again)

    async def disable(self, webhook_id: str, reason: str) -> None:
        """Turns a webhook off whose receiver is gone."""
        async with connected(self._pool, None) as own, own.transaction():
            found = await own.fetchrow(_SQL["disable"], webhook_id, reason)
            if found is not None:
                now = shown(Webhook.read(found))
                await record(
                    own, found["tenant"], "webhook.disable", f"webhook:{webhook_id}", by=Actor("purser", None),
                    before=now | {"enabled": True}, after=now,
                )  # fmt: skip

    async def test(self, tenant: str, webhook_id: str, connection: Connection | None = None) -> Delivery:
        """A delivery that shows whether the address works; raises `NotFound`."""
        message_id = f"msg_{uuid.uuid4().hex}"
        text = "Purser reaches this address."
        body = {
            "type": "test", "at": datetime.now(UTC).isoformat(), "tenant": tenant, "title": "Test", "text": text,
            "severity": "low", "url": self._public_url,
        }  # fmt: skip
        async with connected(self._pool, connection) as own:
            return _found(await own.fetchrow(_SQL["test"], tenant, webhook_id, message_id, {"id": message_id} | body))

    async def page(self, tenant: str, webhook_id: str, before: int | None, limit: int) -> list[Delivery]:
        """Deliveries of a webhook, newest first, older than `before`."""
        async with connected(self._pool, None) as own:
            rows = await own.fetch(_SQL["list"], tenant, webhook_id, before, limit)
        return [Delivery.read(found) for found in rows]

    async def redeliver(
        self, tenant: str, webhook_id: str, delivery_id: int, connection: Connection | None = None
    ) -> Delivery:
        """Sends a message again, with the id that it had; raises `NotFound`."""
        async with connected(self._pool, connection) as own:
            return _found(await own.fetchrow(_SQL["redeliver"], tenant, webhook_id, delivery_id))

    async def forget(self, age: timedelta, limit: int = 1_000) -> int:
        """Deletes finished deliveries older than `age`, looking at the `limit` oldest; returns how many."""
        async with connected(self._pool, None) as own:
            done: str = await own.execute(_SQL["forget"], age, limit)
        return int(done.split()[-1])

    async def _chosen(self, hooks: list[Webhook], after: int, until: int) -> list[Event]:
        kinds = sorted({kind.partition(".")[0] for hook in hooks for kind in hook.kinds})
        tenants = sorted({hook.tenant for hook in hooks})
        return await self._events.of(tenants, kinds, after, until, BATCH) if hooks else []

    async def _messages(self, events: list[Event], hooks: list[Webhook]) -> list[tuple[str, int, str, dict[str, Any]]]:
        """Webhook, position, id and body of each delivery."""
        found = []
        for event in events:
            wanting = [hook for hook in hooks if _wants(hook, event)]
            if not wanting:
                continue
            body = payload(event, await self._budget(event), self._public_url, datetime.now(UTC))
            for hook in wanting:
                message_id = f"msg_{hook.webhook_id}_{event.position}"
                found.append((hook.webhook_id, event.position, message_id, {"id": message_id} | body))
        return found

    async def _budget(self, event: Event) -> BudgetView | None:
        if event.kind not in _ABOUT_BUDGETS or event.scope is None:
            return None
        return await self._policies.budget(event.tenant, Scope.parse(event.scope))


def _wants(hook: Webhook, event: Event) -> bool:
    return hook.tenant == event.tenant and is_wanted(event, hook.kinds, hook.least_threshold)


def _found(record: asyncpg.Record | None) -> Delivery:
    if record is None:
        raise NotFound("there is no such delivery or webhook: GET /v1/webhooks lists the ids")
    return Delivery.read(record)
