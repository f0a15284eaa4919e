"""Webhooks in Postgres. A secret is shown once; it is stored encrypted, because it is needed for signing."""

import base64
import secrets
import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Self

import asyncpg

from purser.budget.actors import Actor
from purser.budget.errors import Conflict, NotFound
from purser.budget.postgres.changes import record
from purser.budget.postgres.connections.pools import Connection, Pool, connected, fetch, fetchrow, row
from purser.budget.postgres.connections.queries import load
from purser.gateway.access.sealing import Seal
from purser.gateway.errors import SecretUnreadable
from purser.gateway.webhooks.targets import origin

_SQL = load("purser.gateway.postgres", "webhooks.sql")
MAX_WEBHOOKS = 100
"""Most webhooks of one tenant."""
BOTH_SIGN = timedelta(hours=24)
"""Time for which replaced secrets sign in addition to the new one, after each rotation."""
MOST_PREVIOUS = 4
"""Most replaced secrets that sign, the newest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookFields:
    """The configurable fields of a webhook."""

    url: str
    kinds: tuple[str, ...]
    """`kind` or `kind.state`."""
    least_threshold: float | None = None
    """Lower thresholds are not delivered."""
    description: str = ""
    enabled: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook(WebhookFields):
    """A webhook without its secret."""

    webhook_id: str
    tenant: str
    disabled_reason: str | None
    """Why Purser disabled it; `None` if it did not."""
    created_by: str
    created_at: datetime
    previous_until: datetime | None
    """Time until which replaced secrets sign too."""

    @classmethod
    def read(cls, record: asyncpg.Record) -> Self:
        """Reads a row of `webhooks`."""
        found = {name: record[name] for name in cls.__dataclass_fields__}
        least = found["least_threshold"]
        return cls(
            **found | {"kinds": tuple(found["kinds"]), "least_threshold": None if least is None else float(least)}
        )

    def fields(self) -> WebhookFields:
        """The configurable fields."""
        return WebhookFields(**{name: getattr(self, name) for name in WebhookFields.__dataclass_fields__})


class Webhooks:
    """The webhooks of all tenants."""

    def __init__(self, pool: Pool, seal: Seal) -> None:
        self._pool = pool
        self._seal = seal

    async def create(
        self, tenant: str, chosen: WebhookFields, *, by: Actor, connection: Connection | None = None
    ) -> tuple[Webhook, str]:
        """Creates a webhook and its secret; raises `Conflict` if the tenant has too many, or `SecretsKeyMissing`."""
        secret = _new_secret()
        encrypted = self._seal.encrypt(secret)
        async with connected(self._pool, connection) as own, own.transaction():
            await own.execute(_SQL["lock_tenant"], tenant)
            if await own.fetchval(_SQL["count"], tenant) >= MAX_WEBHOOKS:
                raise Conflict(f"there are already {MAX_WEBHOOKS} webhooks: delete one first")
            webhook_id = f"hook-{uuid.uuid4().hex[:12]}"
            found = await own.fetchrow(_SQL["create"], webhook_id, tenant, *_columns(chosen), encrypted, by.name)
            made = Webhook.read(row(found))
            await _record(own, "create", by, None, made)
        return made, secret

    async def list(self, tenant: str) -> list[Webhook]:
        """Lists all webhooks of a tenant, oldest first."""
        return [Webhook.read(one) for one in await fetch(self._pool, _SQL["list"], tenant)]

    async def get(self, tenant: str, webhook_id: str) -> Webhook:
        """Reads one webhook; raises `NotFound`."""
        return _found(await fetchrow(self._pool, _SQL["get"], tenant, webhook_id), webhook_id)

    async def change(self, tenant: str, webhook_id: str, fields: Mapping[str, Any], *, by: Actor) -> Webhook:
        """Sets the given fields of `WebhookFields`; raises `NotFound`."""
        async with connected(self._pool, None) as own, own.transaction():
            before = _found(await own.fetchrow(_SQL["lock"], tenant, webhook_id), webhook_id)
            chosen = replace(before.fields(), **fields)
            # Who decides about a webhook that its receiver ended has taken note of the reason.
            decided = "enabled" in fields
            changed = await own.fetchrow(_SQL["change"], tenant, webhook_id, *_columns(chosen), decided)
            after = Webhook.read(row(changed))
            if after != before:
                await _record(own, "change", by, before, after)
        return after

    async def rotate(
        self, tenant: str, webhook_id: str, *, by: Actor, connection: Connection | None = None
    ) -> tuple[Webhook, str]:
        """Creates a new secret; what signed until now signs too for a day. Raises `NotFound`, `SecretsKeyMissing`."""
        secret = _new_secret()
        encrypted = self._seal.encrypt(secret)
        async with connected(self._pool, connection) as own, own.transaction():
            rotated = await own.fetchrow(_SQL["rotate"], tenant, webhook_id, encrypted, BOTH_SIGN, MOST_PREVIOUS)
            after = _found(rotated, webhook_id)
            await _record(own, "rotate", by, after, after)
        return after, secret

    async def renew_secrets(self) -> int:
        """Encrypts all secrets with the first key, and removes previous ones that sign no more; returns for how many
        webhooks the current secret cannot be read."""
        unreadable = 0
        async with connected(self._pool, None) as own, own.transaction():
            for found in await own.fetch(_SQL["secrets"]):
                secret, previous = found["secret"], None if found["expired"] else found["previous_secret"]
                previous = previous and " ".join(map(self._renewed, previous.split()))
                try:
                    secret = self._seal.reencrypt(secret) or secret
                except SecretUnreadable:
                    unreadable += 1
                if (secret, previous) != (found["secret"], found["previous_secret"]):
                    await own.execute(_SQL["renew_secrets"], found["webhook_id"], secret, previous)
        return unreadable

    def _renewed(self, encrypted: str) -> str:
        with suppress(SecretUnreadable):
            return self._seal.reencrypt(encrypted) or encrypted
        return encrypted

    async def delete(self, tenant: str, webhook_id: str, *, by: Actor) -> None:
        """Deletes a webhook with its deliveries; raises `NotFound`."""
        async with connected(self._pool, None) as own, own.transaction():
            before = _found(await own.fetchrow(_SQL["delete"], tenant, webhook_id), webhook_id)
            await _record(own, "delete", by, before, None)


def shown(webhook: Webhook) -> dict[str, Any]:
    """A webhook in the change log: only the origin of its address, because the path may be a secret."""
    return asdict(webhook.fields()) | {"url": origin(webhook.url), "kinds": [*webhook.kinds]}


async def _record(own: Connection, verb: str, by: Actor, before: Webhook | None, after: Webhook | None) -> None:
    one = before or after
    assert one is not None
    await record(
        own, one.tenant, f"webhook.{verb}", f"webhook:{one.webhook_id}", by=by,
        before=None if before is None else shown(before), after=None if after is None else shown(after),
    )  # fmt: skip


def _columns(chosen: WebhookFields) -> tuple[Any, ...]:
    least = None if chosen.least_threshold is None else Decimal(str(chosen.least_threshold))
    return chosen.url, [*chosen.kinds], least, chosen.description, chosen.enabled


def _found(record: asyncpg.Record | None, webhook_id: str) -> Webhook:
    if record is None:
        raise NotFound(f"webhook {webhook_id[:80]!r} does not exist: GET /v1/webhooks lists the ids")
    return Webhook.read(record)


def _new_secret() -> str:
    return "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()
