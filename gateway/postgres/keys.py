"""Bearer keys in Postgres: made, found, listed, revoked. They may end by themselves."""

import hashlib
import re
import secrets
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Self

import asyncpg

from purser.activities.tasks.signatures import Signer
from purser.budget.actors import Actor
from purser.budget.errors import InvalidRequest
from purser.budget.postgres.connections.pools import Connection, Pool, connected, reaching_ledger, row
from purser.budget.postgres.connections.queries import load
from purser.budget.postgres.reports.changes import record
from purser.budget.scopes import check_id
from purser.gateway.access.roles import PERMISSIONS, Permission, Principal, Role
from purser.gateway.errors import KeyEnded, KeyNameTaken, UnknownKey

_SQL = load("purser.gateway.postgres", "keys.sql")
_NAME = re.compile(r"[A-Za-z0-9._~@+-]{1,128}")
PREFIX = "purser_"
"""Begins every secret, so that scanners of leaked secrets can know it."""
EXPIRY = Actor("expiry", None)
RESERVED = frozenset({"expiry", "sweeper", "unknown"})
"""Names under which parts of Purser act."""
MAX_RATE = 1_000_000


@dataclass(frozen=True, slots=True)
class Key:
    """A key without its secret."""

    key_id: str
    tenant: str
    name: str
    role: Role
    created_by: str
    created_at: datetime
    expires_at: datetime | None
    """When it ends by itself; `None`: never."""
    rate_limit_per_s: int | None
    """Requests a second; `None`: as the gateway is set."""
    revoked_by: str | None
    revoked_at: datetime | None
    """`None` until somebody ends it."""

    @classmethod
    def read(cls, record: asyncpg.Record) -> Self:
        """A row of `keys`."""
        return cls(**{**dict(record), "role": Role(record["role"])})


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key at the one moment when its secret is known."""

    key: Key
    secret: str


class Keys:
    """The keys of all tenants."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def create(
        self,
        tenant: str,
        name: str,
        role: Role,
        *,
        by: Actor,
        expires_at: datetime | None = None,
        rate_limit_per_s: int | None = None,
        replace: bool = False,
        connection: Connection | None = None,
    ) -> NewKey:
        """Makes a key.

        Args:
            tenant: whose data it reaches.
            name: who it stands for: 1 to 128 of `A-Z a-z 0-9 . _ ~ @ + -`. The name of a key that has ended is free.
            role: what it may do.
            by: who makes it.
            expires_at: when it ends by itself.
            rate_limit_per_s: requests a second, where it is not to be the gateway's own limit.
            replace: revoke a live key of that name instead of refusing.
            connection: joins its transaction.

        Raises:
            KeyNameTaken, InvalidRequest
        """
        check_id(tenant, "tenant")
        _check(name, expires_at, rate_limit_per_s)
        secret = PREFIX + secrets.token_urlsafe(32)
        async with connected(self._pool, connection) as own, own.transaction():
            for old in await own.fetch(_SQL["named"], tenant, name, replace):
                await self._revoke(own, tenant, old["key_id"], by if replace else EXPIRY)
            made = await own.fetchrow(
                _SQL["create"], f"key-{uuid.uuid4().hex[:12]}", tenant, name, role, digest(secret), by.name,
                expires_at, rate_limit_per_s,
            )  # fmt: skip
            if made is None:
                raise KeyNameTaken(f"a key named {name!r} exists: revoke it first, or choose another name")
            key = Key.read(made)
            await record(own, tenant, "key.create", f"key:{key.key_id}", by=by, before=None, after=_told(key))
        return NewKey(key, secret)

    async def find(self, secret: str) -> Principal | None:
        """Whose live key this is; `None`: nobody's. Raises `KeyEnded`."""
        with reaching_ledger():
            found = await self._pool.fetchrow(_SQL["find"], digest(secret))
        return None if found is None else live(found)

    async def signer(self, tenant: str, key_id: str) -> Signer | None:
        """Who signs with this key; `None` if the tenant has no live key of this id."""
        with reaching_ledger():
            found = await self._pool.fetchrow(_SQL["signer"], tenant, key_id)
        if found is None:
            return None
        decides = Permission.DECIDE in PERMISSIONS[Role(found["role"])]
        return Signer(found["name"], (found["role"],) if decides else (), found["digest"])

    async def list(self, tenant: str) -> list[Key]:
        """All keys of a tenant, those that have ended included, oldest first."""
        with reaching_ledger():
            return [Key.read(record) for record in await self._pool.fetch(_SQL["list"], tenant)]

    async def revoke(self, tenant: str, key_id: str, *, by: Actor) -> Key:
        """Ends a key at once; ending it again changes nothing. Raises `UnknownKey`."""
        with reaching_ledger():
            async with self._pool.acquire() as connection, connection.transaction():
                return await self._revoke(connection, tenant, key_id, by)

    async def _revoke(self, connection: Connection, tenant: str, key_id: str, by: Actor) -> Key:
        found = await connection.fetchrow(_SQL["lock"], tenant, key_id)
        if found is None:
            raise UnknownKey(f"key {key_id[:80]!r} does not exist")
        before = Key.read(found)
        if before.revoked_at is not None:
            return before
        ended = Key.read(row(await connection.fetchrow(_SQL["revoke"], tenant, key_id, by.name)))
        await record(connection, tenant, "key.revoke", f"key:{key_id}", by=by, before=_told(before), after=None)
        return ended


def live(found: asyncpg.Record) -> Principal:
    """The caller behind a row with a key that is not revoked; raises `KeyEnded`."""
    if found["ended_at"] is not None:
        raise KeyEnded(f"the key ended at {found['ended_at'].isoformat()}: ask an admin for a new one")
    return Principal(found["name"], found["key_id"], found["tenant"], Role(found["role"]), found["rate_limit_per_s"])


def digest(secret: str) -> bytes:
    """What is kept of a secret. It is random and long: a slow hash would add nothing but time."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def _check(name: str, expires_at: datetime | None, rate_limit_per_s: int | None) -> None:
    if not _NAME.fullmatch(name):
        raise InvalidRequest(f"name {name[:140]!r} is not valid: use 1 to 128 of A-Z a-z 0-9 . _ ~ @ + -")
    if name in RESERVED:
        raise InvalidRequest(f"name {name!r} is not valid: a part of Purser acts under it; choose another")
    if expires_at is not None and expires_at <= datetime.now(UTC):
        raise InvalidRequest(f"expires_at {expires_at.isoformat()!r} is not in the future: name a later time")
    if rate_limit_per_s is not None and not 1 <= rate_limit_per_s <= MAX_RATE:
        raise InvalidRequest(f"rate_limit_per_s {rate_limit_per_s} is not valid: use 1 to {MAX_RATE}")


def _told(key: Key) -> dict[str, Any]:
    return {
        "name": key.name,
        "role": key.role,
        "expires_at": key.expires_at and key.expires_at.isoformat(),
        "rate_limit_per_s": key.rate_limit_per_s,
    }
