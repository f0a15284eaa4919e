"""Bearer keys in Postgres: made, found, listed, revoked."""

import hashlib
import re
import secrets
import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Self

import asyncpg

from budget.errors import InvalidRequest
from budget.postgres.connection import Pool, reaching_ledger
from budget.postgres.queries import load
from budget.scopes import check_id
from gateway.errors import KeyNameTaken, UnknownKey
from gateway.roles import Principal, Role

_SQL = load("gateway.postgres", "keys.sql")
_NAME = re.compile(r"[A-Za-z0-9._~@+-]{1,128}")
PREFIX = "purser_"
"""Begins every secret, so that scanners of leaked secrets can know it."""


@dataclass(frozen=True, slots=True)
class Key:
    """A key without its secret."""

    key_id: str
    tenant: str
    name: str
    role: Role
    created_by: str
    created_at: datetime
    revoked_by: str | None
    revoked_at: datetime | None
    """`None` while the key works."""

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

    async def create(self, tenant: str, name: str, role: Role, *, by: str, replace: bool = False) -> NewKey:
        """Makes a key.

        Args:
            tenant: whose data it reaches.
            name: who it stands for: 1 to 128 of `A-Z a-z 0-9 . _ ~ @ + -`.
            role: what it may do.
            by: who makes it.
            replace: revoke a live key of that name instead of refusing.

        Raises:
            KeyNameTaken, InvalidRequest
        """
        check_id(tenant, "tenant")
        if not _NAME.fullmatch(name):
            raise InvalidRequest(f"name {name[:140]!r} is not valid: use 1 to 128 of A-Z a-z 0-9 . _ ~ @ + -")
        secret = PREFIX + secrets.token_urlsafe(32)
        with reaching_ledger():
            async with self._pool.acquire() as connection, connection.transaction():
                if replace:
                    await connection.execute(_SQL["revoke_name"], tenant, name, by)
                made = await connection.fetchrow(
                    _SQL["create"], f"key-{uuid.uuid4().hex[:12]}", tenant, name, role, _digest(secret), by
                )
        if made is None:
            raise KeyNameTaken(f"a key named {name!r} exists: revoke it first, or choose another name")
        return NewKey(Key.read(made), secret)

    async def find(self, secret: str) -> Principal | None:
        """Whose live key this is."""
        with reaching_ledger():
            found = await self._pool.fetchrow(_SQL["find"], _digest(secret))
        return None if found is None else Principal(**{**dict(found), "role": Role(found["role"])})

    async def list(self, tenant: str) -> list[Key]:
        """All keys of a tenant, revoked ones included, oldest first."""
        with reaching_ledger():
            return [Key.read(record) for record in await self._pool.fetch(_SQL["list"], tenant)]

    async def revoke(self, tenant: str, key_id: str, *, by: str) -> Key:
        """Ends a key at once; ending it again changes nothing. Raises `UnknownKey`."""
        with reaching_ledger():
            found = await self._pool.fetchrow(_SQL["revoke"], tenant, key_id, by)
        if found is None:
            raise UnknownKey(f"key {key_id[:80]!r} does not exist: GET /v1/keys lists the ids")
        return Key.read(found)


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()
