"""Answers by Idempotency-Key, stored in the transaction of the request's changes: both are stored, or neither."""

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from purser.budget.errors import KeyReused
from purser.budget.postgres.connections.pools import Connection, Pool, affected, connected, execute
from purser.budget.postgres.connections.queries import load
from purser.gateway.access.roles import Principal

_SQL = load("purser.gateway.postgres", "idempotency.sql")
RETENTION = timedelta(hours=24)
"""Time for which a key is bound to its request."""
BATCH = 1_000


@dataclass(frozen=True, slots=True)
class KeyedRequest:
    """A request with an Idempotency-Key."""

    caller: Principal
    key: str
    """The Idempotency-Key, unique per bearer key."""
    payload: bytes
    """Method, path and body, to which the key is bound."""

    @property
    def row(self) -> tuple[str, str, bytes]:
        """Primary key of its row in `answers`."""
        return self.caller.tenant, self.caller.key_id, hashlib.sha256(self.key.encode()).digest()

    @property
    def digest(self) -> bytes:
        """SHA-256 of the payload."""
        return hashlib.sha256(self.payload).digest()


@dataclass(frozen=True, slots=True)
class Claim:
    """A locked key."""

    request: KeyedRequest
    connection: Connection
    """Connection for the changes of the request; its transaction ends with the claim."""
    answer: dict[str, Any] | None
    """The stored answer; `None` if the request is new."""

    async def store(self, answer: dict[str, Any]) -> None:
        """Stores the answer, which must not contain a secret."""
        await self.connection.execute(_SQL["store"], *self.request.row, answer)


class IdempotentAnswers:
    """The stored answers of all tenants."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    @asynccontextmanager
    async def claim(self, request: KeyedRequest) -> AsyncIterator[Claim]:
        """Locks a key: a second request with the same key waits for the first one's transaction.

        An error inside the block rolls everything back, including the claim.

        Raises:
            KeyReused: the key is bound to another request.
        """
        async with connected(self._pool, None) as own, own.transaction():
            first = await own.fetchval(_SQL["claim"], *request.row, request.digest, RETENTION)
            yield Claim(request, own, None if first else await self._find(own, request))

    async def find(self, request: KeyedRequest) -> dict[str, Any] | None:
        """Finds the stored answer to a request outside of a transaction; raises `KeyReused`."""
        async with connected(self._pool, None) as own:
            return await self._find(own, request)

    async def store(self, request: KeyedRequest, answer: dict[str, Any]) -> None:
        """Stores an answer in a separate transaction, unless one is stored."""
        async with self.claim(request) as claim:
            if claim.answer is None:
                await claim.store(answer)

    async def sweep(self) -> int:
        """Deletes answers older than `RETENTION`; returns how many. Any number of processes may call it."""
        return affected(await execute(self._pool, _SQL["sweep"], RETENTION, BATCH))

    async def _find(self, own: Connection, request: KeyedRequest) -> dict[str, Any] | None:
        found = await own.fetchrow(_SQL["find"], *request.row, RETENTION)
        if found is None:
            return None
        if found["digest"] != request.digest:
            raise KeyReused("the Idempotency-Key is bound to another request: use a new key for a new request")
        answer: dict[str, Any] | None = found["answer"]
        return answer
