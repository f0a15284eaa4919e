"""Bearer keys in Postgres: creating, finding, listing, changing and revoking them."""

import asyncio
import hashlib
import re
import secrets
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Self

import asyncpg

from purser.activities.tasks.signatures import Signer
from purser.budget.actors import Actor
from purser.budget.errors import InvalidRequest, LedgerUnavailable
from purser.budget.labels import tags_of
from purser.budget.postgres.changes import record
from purser.budget.postgres.connections.pools import Connection, Pool, connected, fetch, fetchrow, row
from purser.budget.postgres.connections.queries import load
from purser.budget.postgres.connections.shared_reads import SharedReads
from purser.budget.scopes import Kind, Path, check_id
from purser.gateway.access.leases import LEASE_S, Leases
from purser.gateway.access.roles import PERMISSIONS, Permission, Principal, Role
from purser.gateway.errors import KeyEnded, KeyNameTaken, UnknownKey

_SQL = load("purser.gateway.postgres", "keys.sql")
_NAME = re.compile(r"[A-Za-z0-9._~@+-]{1,128}")
PREFIX = "purser_"
"""Prefix of every secret, so that secret scanners can recognize it."""
EXPIRY = Actor("expiry", None)
RESERVED = frozenset({"expiry", "sweeper", "unknown"})
"""Names under which components of Purser act."""
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
    """When it expires; `None`: never."""
    rate_limit_per_s: int | None
    """Requests per second; `None`: the gateway's setting."""
    tags: Mapping[str, str]
    """Tags of every call made with it, value by name."""
    revoked_by: str | None
    revoked_at: datetime | None
    """`None` unless it has been revoked."""
    path: Sequence[str] = ()
    """Scopes of its calls through the proxy that name none."""

    @classmethod
    def read(cls, record: asyncpg.Record) -> Self:
        """Reads a row of `keys`."""
        return cls(**{**dict(record), "role": Role(record["role"])})


@dataclass(frozen=True, slots=True)
class NewKey:
    """A new key with its secret, which is not stored."""

    key: Key
    secret: str


@dataclass(frozen=True, slots=True)
class Tenant:
    """A tenant that has keys or has made calls."""

    tenant: str
    live_keys: int
    admin_keys: int
    """How many of them are of admins."""
    last_call_at: datetime | None
    """When its newest hold was made; `None`: none is kept."""


class Keys:
    """The keys of all tenants."""

    def __init__(self, pool: Pool, clock: Callable[[], float] = time.monotonic) -> None:
        """Args:
        pool: from `purser.budget.postgres.connections.pools.create_pool`.
        clock: returns seconds; tests pass their own.
        """
        self._pool = pool
        self._finding = SharedReads(self._find)
        self._leases = Leases(clock)
        self._renewals = set[asyncio.Task[Principal | None]]()

    async def create(
        self,
        tenant: str,
        name: str,
        role: Role,
        *,
        by: Actor,
        expires_at: datetime | None = None,
        rate_limit_per_s: int | None = None,
        tags: Mapping[str, str] = MappingProxyType({}),
        path: Sequence[str] = (),
        replace: bool = False,
        connection: Connection | None = None,
    ) -> NewKey:
        """Creates a key.

        Args:
            tenant: tenant whose data it can access.
            name: name of its holder: 1 to 128 of `A-Z a-z 0-9 . _ ~ @ + -`. The name of an ended key can be used again.
            role: role of the key.
            by: actor that creates it.
            expires_at: when it expires; `None`: never.
            rate_limit_per_s: requests per second, if different from the gateway's setting.
            tags: tags of every call made with it, value by name.
            path: scopes of its calls through the proxy that name none.
            replace: revoke a live key of that name, as `revoke` does, instead of raising `KeyNameTaken`.
            connection: joins its transaction.

        Raises:
            KeyNameTaken, InvalidRequest, InvalidScope
        """
        check_id(tenant, "tenant")
        _check(name, expires_at, rate_limit_per_s)
        tags_of(tags)
        _check_path(tenant, path)
        secret = PREFIX + secrets.token_urlsafe(32)
        async with connected(self._pool, connection) as own, own.transaction():
            named = await own.fetch(_SQL["named"], tenant, name, replace)
            for old in named:
                await self._revoke(own, tenant, old["key_id"], by if replace else EXPIRY)
            made = await own.fetchrow(
                _SQL["create"], f"key-{uuid.uuid4().hex[:12]}", tenant, name, role, digest(secret), by.name,
                expires_at, rate_limit_per_s, dict(tags), list(path),
            )  # fmt: skip
            if made is None:
                raise KeyNameTaken(f"a key named {name!r} exists: revoke it first, or choose another name")
            key = Key.read(made)
            await record(own, tenant, "key.create", f"key:{key.key_id}", by=by, before=None, after=_recorded(key))
        if replace and named:
            await asyncio.sleep(LEASE_S)
        return NewKey(key, secret)

    async def find(self, secret: str) -> Principal | None:
        """Finds the caller to which a live key belongs; `None` if there is none. Raises `KeyEnded`."""
        found = await self._finding.get(digest(secret))
        return None if found is None else live(found)

    async def leased(self, secret: str) -> Principal | None:
        """Finds the caller of a key that is in use, in most cases without a read; `None`: `find` has to answer.

        Raises:
            LedgerUnavailable: Postgres did not answer; `find` would wait for it once more.
        """
        secret_digest = digest(secret)
        lease = self._leases.last(secret_digest)
        if lease is None:
            return None
        left_s = self._leases.left_s(lease)
        if left_s <= 0:
            return await self._renewed(secret_digest)
        if left_s <= LEASE_S / 2 and not lease.renewing:  # so that no request waits for it
            lease.renewing = True
            renewal = asyncio.create_task(self._renew(secret_digest))
            self._renewals.add(renewal)
            renewal.add_done_callback(self._renewals.discard)
        return lease.caller

    async def _renewed(self, secret_digest: bytes) -> Principal | None:
        try:
            found = await self._finding.get(secret_digest)
            return None if found is None else live(found)
        except KeyEnded:
            return None

    async def _renew(self, secret_digest: bytes) -> None:
        with suppress(LedgerUnavailable):
            await self._renewed(secret_digest)

    async def _find(self, secret_digest: bytes) -> asyncpg.Record | None:
        began = self._leases.now()
        found = await fetchrow(self._pool, _SQL["find"], secret_digest)
        if found is None or found["ended_at"] is not None:
            self._leases.end(secret_digest)
        else:
            self._leases.grant(secret_digest, live(found), began, found["lasts_s"])
        return found

    async def signer(self, tenant: str, key_id: str) -> Signer | None:
        """Finds the signer of a key; `None` if the tenant has no live key of this id."""
        found = await fetchrow(self._pool, _SQL["signer"], tenant, key_id)
        if found is None:
            return None
        decides = Permission.DECIDE in PERMISSIONS[Role(found["role"])]
        return Signer(found["name"], (found["role"],) if decides else (), found["digest"])

    async def list(self, tenant: str) -> list[Key]:
        """Lists all keys of a tenant, including those that have ended, oldest first."""
        return [Key.read(record) for record in await fetch(self._pool, _SQL["list"], tenant)]

    async def tenants(self) -> Sequence[Tenant]:
        """Lists all tenants by name. Only for operators: the key of a tenant sees no other tenant."""
        return [Tenant(**record) for record in await fetch(self._pool, _SQL["tenants"])]

    async def revoke(self, tenant: str, key_id: str, *, by: Actor) -> Key:
        """Revokes a key; once this returns, no process takes it. Revoking it again has no effect.

        Raises:
            UnknownKey
        """
        async with connected(self._pool, None) as connection, connection.transaction():
            ended = await self._revoke(connection, tenant, key_id, by)
        await asyncio.sleep(LEASE_S)
        return ended

    async def change(
        self,
        tenant: str,
        key_id: str,
        *,
        by: Actor,
        role: Role | None = None,
        path: Sequence[str] | None = None,
        expires_at: datetime | None = None,
        never_expires: bool = False,
    ) -> Key:
        """Changes a key that is not revoked; once this returns, no process uses what it was before.

        Args:
            tenant, key_id: the key; a later end also revives one that has expired.
            by: actor that changes it.
            role: its role from now on; `None`: unchanged, as for the fields below.
            path: scopes of its calls that name none.
            expires_at: when it expires.
            never_expires: removes its end.

        Raises:
            UnknownKey, InvalidRequest, InvalidScope
        """
        _check_path(tenant, path or ())
        _check_end(expires_at)
        async with connected(self._pool, None) as connection, connection.transaction():
            before = await _locked(connection, tenant, key_id)
            if before.revoked_at is not None:
                raise InvalidRequest(f"key {key_id!r} is revoked: create another one")
            changing = (role, None if path is None else list(path), expires_at, never_expires)
            after = Key.read(row(await connection.fetchrow(_SQL["change"], tenant, key_id, *changing)))
            if after != before:
                changed = {"before": _recorded(before), "after": _recorded(after)}
                await record(connection, tenant, "key.change", f"key:{key_id}", by=by, **changed)
        await asyncio.sleep(LEASE_S)
        return after

    async def _revoke(self, connection: Connection, tenant: str, key_id: str, by: Actor) -> Key:
        before = await _locked(connection, tenant, key_id)
        if before.revoked_at is not None:
            return before
        ended = Key.read(row(await connection.fetchrow(_SQL["revoke"], tenant, key_id, by.name)))
        await record(connection, tenant, "key.revoke", f"key:{key_id}", by=by, before=_recorded(before), after=None)
        return ended


async def _locked(connection: Connection, tenant: str, key_id: str) -> Key:
    found = await connection.fetchrow(_SQL["lock"], tenant, key_id)
    if found is None:
        raise UnknownKey(f"key {key_id[:80]!r} does not exist")
    return Key.read(found)


def live(found: asyncpg.Record) -> Principal:
    """Reads the caller from a row of a key that is not revoked; raises `KeyEnded`."""
    if found["ended_at"] is not None:
        raise KeyEnded(f"the key expired at {found['ended_at'].isoformat()}: ask an admin for a new one")
    role, per_s, tags = Role(found["role"]), found["rate_limit_per_s"], found["tags"]
    return Principal(found["name"], found["key_id"], found["tenant"], role, per_s, tags, found["path"])


def digest(secret: str) -> bytes:
    """SHA-256 of a secret. Secrets are long and random, so a slow hash would add no security."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def _check(name: str, expires_at: datetime | None, rate_limit_per_s: int | None) -> None:
    if not _NAME.fullmatch(name):
        raise InvalidRequest(f"name {name[:140]!r} is not valid: use 1 to 128 of A-Z a-z 0-9 . _ ~ @ + -")
    if name in RESERVED:
        raise InvalidRequest(f"name {name!r} is not valid: it is reserved for a component of Purser; choose another")
    _check_end(expires_at)
    if rate_limit_per_s is not None and not 1 <= rate_limit_per_s <= MAX_RATE:
        raise InvalidRequest(f"rate_limit_per_s {rate_limit_per_s} is not valid: use 1 to {MAX_RATE}")


def _check_end(expires_at: datetime | None) -> None:
    if expires_at is not None and expires_at <= datetime.now(UTC):
        raise InvalidRequest(f"expires_at {expires_at.isoformat()!r} is not in the future: name a later time")


def _check_path(tenant: str, path: Sequence[str]) -> None:
    for scope in Path.parse(path).scopes if path else ():
        if scope.kind is Kind.TENANT and scope.id != tenant:
            raise InvalidRequest(f"scope {str(scope)!r} is another tenant: the key belongs to tenant:{tenant}")


def _recorded(key: Key) -> dict[str, Any]:
    return {
        "name": key.name,
        "role": key.role,
        "expires_at": key.expires_at and key.expires_at.isoformat(),
        "rate_limit_per_s": key.rate_limit_per_s,
        "tags": dict(key.tags),
        "path": list(key.path),
    }
