"""Deliveries to webhooks: one for each webhook and event, sent at least once and logged."""

import hashlib
import uuid
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Self

import asyncpg
import structlog

from purser.budget.actors import Actor
from purser.budget.errors import LedgerUnavailable, NotFound
from purser.budget.postgres.changes import record
from purser.budget.postgres.connections.pools import Connection, Pool, affected, connected, execute, fetch
from purser.budget.postgres.connections.queries import load
from purser.budget.postgres.events.events import Event, EventKind, Events
from purser.budget.postgres.ledger.policies import Policies
from purser.budget.reports.views import BudgetView
from purser.budget.scopes import Scope
from purser.gateway.approvals.links import ApprovalLinks
from purser.gateway.postgres.webhooks import Webhook, shown
from purser.gateway.webhooks.messages import is_wanted, payload, payload_of_test

_SQL = load("purser.gateway.postgres", "deliveries.sql")
BATCH = 200
"""Most events from which deliveries are created in one transaction."""
LEASE = timedelta(seconds=60)
"""Time for which a claimed delivery belongs to its sender."""
_ABOUT_BUDGETS = (EventKind.APPROVAL, EventKind.THRESHOLD)

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message to one webhook, and the state of its delivery."""

    delivery_id: int
    webhook_id: str
    position: int | None
    """Position of the event; `None`: a test."""
    message_id: str
    """The same on every attempt, so that receivers can detect duplicates."""
    payload: Mapping[str, Any]
    state: str
    """`pending`, `delivered` or `failed`."""
    tries: int
    next_at: datetime
    """When a pending delivery is attempted next."""
    status: int | None
    """HTTP status of the last attempt."""
    error: str | None
    """Kind of the last failure."""
    duration_ms: int | None
    """Duration of the last attempt."""
    created_at: datetime
    ended_at: datetime | None

    @classmethod
    def read(cls, record: asyncpg.Record) -> Self:
        """Reads a row of `deliveries`."""
        return cls(**{name: record[name] for name in cls.__dataclass_fields__})


@dataclass(frozen=True, slots=True)
class ClaimedDelivery:
    """A delivery that a sender has claimed."""

    delivery_id: int
    webhook_id: str
    tenant: str
    message_id: str
    payload: Mapping[str, Any]
    tries: int
    """Number of attempts, including this one."""
    url: str
    secret: str
    """The signing secret, encrypted."""
    previous_secret: str | None
    """The secret before the last rotation, encrypted; signs too for a while."""

    def __repr__(self) -> str:
        return f"ClaimedDelivery({self.delivery_id})"  # secrets stay out of tracebacks


class Deliveries:
    """The deliveries of all tenants. Any number of processes may create and claim them at the same time."""

    def __init__(self, pool: Pool, policies: Policies, public_url: str, links: ApprovalLinks) -> None:
        self._pool = pool
        self._events = Events(pool)
        self._policies = policies
        self._public_url = public_url
        self._links = links

    async def make(self, on_failure: Callable[[], None]) -> bool:
        """Creates the deliveries of the next events; returns whether there may be more.

        An event whose message cannot be created is not delivered: its position is logged, `on_failure` is called, and
        the next event follows. The event itself stays readable (`GET /v1/events`).
        """
        # Read before the webhooks: one that is created in between gets every later event.
        newest = await self._events.newest()
        async with connected(self._pool, None) as own:
            place: int = await own.fetchval(_SQL["cursor"]) or 0
            hooks = [Webhook.read(found) for found in await own.fetch(_SQL["enabled"])]
        if newest <= place:
            return False
        events = await self._chosen(hooks, place, newest)
        until = events[-1].position if len(events) == BATCH else newest
        rows = await self._messages(events, hooks, on_failure)
        async with connected(self._pool, None) as own, own.transaction():
            if rows:
                await own.execute(_SQL["add"], *map(list, zip(*rows, strict=True)))
            await own.execute(_SQL["advance"], until)
        return len(events) == BATCH

    async def claim(self, limit: int, busy: Collection[str], per_tenant: int) -> list[ClaimedDelivery]:
        """Claims the next due delivery of each webhook not in `busy`; it is due again after `LEASE`.

        Args:
            limit: most deliveries to claim.
            busy: webhooks for which the caller has a delivery in progress.
            per_tenant: most deliveries of one tenant, including those in progress.
        """
        claimed = await fetch(self._pool, _SQL["claim"], limit, [*busy], per_tenant, LEASE)
        return [ClaimedDelivery(**found) for found in claimed]

    async def end_disabled(self) -> None:
        """Ends due deliveries of disabled webhooks: their messages would be old when the webhook is enabled again."""
        await execute(self._pool, _SQL["end_disabled"])

    async def delivered(self, delivery: ClaimedDelivery, status: int, duration_ms: int) -> None:
        """Marks a delivery as delivered."""
        await execute(self._pool, _SQL["delivered"], delivery.delivery_id, status, duration_ms)

    async def failed(
        self, delivery: ClaimedDelivery, error: str, status: int | None, duration_ms: int, again: timedelta | None
    ) -> None:
        """Marks an attempt as failed; the next one follows after `again`, or never if that is `None`."""
        await execute(self._pool, _SQL["failed"], delivery.delivery_id, status, duration_ms, error, again)

    async def disable(self, webhook_id: str, reason: str) -> None:
        """Disables a webhook whose receiver fails."""
        async with connected(self._pool, None) as own, own.transaction():
            found = await own.fetchrow(_SQL["disable"], webhook_id, reason)
            if found is not None:
                now = shown(Webhook.read(found))
                await record(
                    own, found["tenant"], "webhook.disable", f"webhook:{webhook_id}", by=Actor("purser", None),
                    before=now | {"enabled": True}, after=now,
                )  # fmt: skip

    async def test(self, tenant: str, webhook_id: str, connection: Connection | None = None) -> Delivery:
        """Creates a test delivery; raises `NotFound`."""
        message_id = f"msg_{uuid.uuid4().hex}"
        body = payload_of_test(tenant, self._public_url, datetime.now(UTC))
        async with connected(self._pool, connection) as own:
            return _found(await own.fetchrow(_SQL["test"], tenant, webhook_id, message_id, {"id": message_id} | body))

    async def page(self, tenant: str, webhook_id: str, before: int | None, limit: int) -> list[Delivery]:
        """Reads at most `limit` deliveries of a webhook, newest first, older than `before`."""
        rows = await fetch(self._pool, _SQL["list"], tenant, webhook_id, before, limit)
        return [Delivery.read(found) for found in rows]

    async def redeliver(
        self, tenant: str, webhook_id: str, delivery_id: int, connection: Connection | None = None
    ) -> Delivery:
        """Sends a message again, with the same id; raises `NotFound`."""
        async with connected(self._pool, connection) as own:
            return _found(await own.fetchrow(_SQL["redeliver"], tenant, webhook_id, delivery_id))

    async def forget(self, age: timedelta, limit: int = 1_000) -> int:
        """Deletes those of the `limit` oldest finished deliveries that are older than `age`; returns how many."""
        return affected(await execute(self._pool, _SQL["forget"], age, limit))

    async def _chosen(self, hooks: list[Webhook], after: int, until: int) -> list[Event]:
        kinds = sorted({kind.partition(".")[0] for hook in hooks for kind in hook.kinds})
        tenants = sorted({hook.tenant for hook in hooks})
        return await self._events.of(tenants, kinds, after, until, BATCH) if hooks else []

    async def _messages(
        self, events: list[Event], hooks: list[Webhook], on_failure: Callable[[], None]
    ) -> list[tuple[str, int, str, dict[str, Any]]]:
        """Creates webhook id, position, message id and body of each delivery."""
        found = []
        for event in events:
            try:
                found += await self._messages_of(event, hooks)
            except LedgerUnavailable:
                raise
            except Exception as error:
                log.error(
                    "no webhook message could be created", position=event.position, kind=event.kind,
                    error=type(error).__name__,
                )  # fmt: skip
                on_failure()
        return found

    async def _messages_of(self, event: Event, hooks: list[Webhook]) -> list[tuple[str, int, str, dict[str, Any]]]:
        subscribed = [hook for hook in hooks if _wants(hook, event)]
        if not subscribed:
            return []
        body = payload(event, await self._budget(event), self._public_url, datetime.now(UTC), self._links)
        ids = [(hook.webhook_id, f"msg_{hook.webhook_id}_{event.position}_{_mark(event)}") for hook in subscribed]
        return [(webhook_id, event.position, message, {"id": message} | body) for webhook_id, message in ids]

    async def _budget(self, event: Event) -> BudgetView | None:
        if event.kind not in _ABOUT_BUDGETS or event.scope is None:
            return None
        return await self._policies.budget(event.tenant, Scope.stored(event.scope))


def _mark(event: Event) -> str:
    """Tells an event from those that had its position before a restore or a failover; every gateway makes the same."""
    return hashlib.sha256(f"{event.at.timestamp()} {event.kind} {event.scope}".encode()).hexdigest()[:8]


def _wants(hook: Webhook, event: Event) -> bool:
    return hook.tenant == event.tenant and is_wanted(event, hook.kinds, hook.least_threshold)


def _found(record: asyncpg.Record | None) -> Delivery:
    if record is None:
        raise NotFound("there is no such delivery or webhook: GET /v1/webhooks lists the ids")
    return Delivery.read(record)
