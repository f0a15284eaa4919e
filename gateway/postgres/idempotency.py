"""Answers by Idempotency-Key: kept in the transaction of what the request changed, so that both exist or neither."""

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from purser.budget.errors import KeyReused
from purser.budget.postgres.connections.pools import Connection, Pool, connected
from purser.budget.postgres.connections.queries import load
from purser.gateway.access.roles import Principal

_SQL = load("purser.gateway.postgres", "idempotency.sql")
KEPT = timedelta(hours=24)
"""For how long a key stands for its request."""
BATCH = 1_000


@dataclass(frozen=True, slots=True)
class Ask:
    """A request that came with a key."""

    caller: Principal
    key: str
    """Unique for the bearer key that sends it."""
    payload: bytes
    """What the key stands for: method, path and body."""

    @property
    def row(self) -> tuple[str, str, bytes]:
        """Which row of `answers` it has."""
        return self.caller.tenant, self.caller.key_id, hashlib.sha256(self.key.encode()).digest()

    @property
    def digest(self) -> bytes:
        """The same request has the same digest."""
        return hashlib.sha256(self.payload).digest()


@dataclass(frozen=True, slots=True)
class Claim:
    """A key whose row nobody else can take."""

    ask: Ask
    connection: Connection
    """For what the request changes: its transaction ends with the claim."""
    answer: dict[str, Any] | None
    """What the request was answered before; `None`: it is new."""

    async def keep(self, answer: dict[str, Any]) -> None:
        """Stores the answer. No secret belongs in it."""
        await self.connection.execute(_SQL["keep"], *self.ask.row, answer)


class Answers:
    """The kept answers of all tenants."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    @asynccontextmanager
    async def claim(self, ask: Ask) -> AsyncIterator[Claim]:
        """One at a time: a second request with the key waits for the first one's transaction.

        What raises inside leaves nothing behind, the claim included.

        Raises:
            KeyReused: the key stands for another request.
        """
        async with connected(self._pool, None) as own, own.transaction():
            first = await own.fetchval(_SQL["claim"], *ask.row, ask.digest, KEPT)
            yield Claim(ask, own, None if first else await self._find(own, ask))

    async def recall(self, ask: Ask) -> dict[str, Any] | None:
        """The answer to a request whose effect cannot share a transaction; raises `KeyReused`."""
        async with connected(self._pool, None) as own:
            return await self._find(own, ask)

    async def remember(self, ask: Ask, answer: dict[str, Any]) -> None:
        """Keeps such an answer, unless one is kept."""
        async with self.claim(ask) as claim:
            if claim.answer is None:
                await claim.keep(answer)

    async def sweep(self) -> int:
        """Forgets answers that were kept long enough; returns how many. Any number of processes may call it."""
        async with connected(self._pool, None) as own:
            return int((await own.execute(_SQL["sweep"], KEPT, BATCH)).split()[-1])

    async def _find(self, own: Connection, ask: Ask) -> dict[str, Any] | None:
        found = await own.fetchrow(_SQL["find"], *ask.row, KEPT)
        if found is None:
            return None
        if found["digest"] != ask.digest:
            raise KeyReused("the Idempotency-Key stands for another request: use a new key for a new request")
        answer: dict[str, Any] | None = found["answer"]
        return answer
