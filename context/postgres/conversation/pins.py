"""Postgres store of pins. A pin is never updated: it ends and another replaces it, so the rows are its history."""

from datetime import datetime
from typing import Any

import asyncpg

from purser.budget.actors import Actor
from purser.budget.postgres.changes import record
from purser.budget.postgres.connections.pools import Connection, Pool, connected, fetch
from purser.budget.postgres.connections.queries import load
from purser.budget.scopes import Kind, Scope
from purser.context.conversation.conversations import MessageRef
from purser.context.conversation.pins import PIN_BUDGET, Pin, check_pins, pinned_tokens
from purser.context.errors import MessageNotFound
from purser.context.postgres.conversation.counts import USUAL_MODELS, encoding_of
from purser.context.postgres.sessions.sessions import lock

_SQL = load("purser.context.postgres.conversation", "pins.sql")


class Pins:
    """Stores the pins of all tenants."""

    def __init__(self, pool: Pool, budget: int = PIN_BUDGET) -> None:
        """Args:
        pool: from `purser.budget.postgres.connections.pools.create_pool`.
        budget: tokens that the live pins of one session may take together.
        """
        self._pool = pool
        self.budget = budget

    async def pin(
        self,
        tenant: str,
        session_id: str,
        seq: int,
        *,
        author: Actor,
        reason: str | None = None,
        until: datetime | None = None,
    ) -> Pin:
        """Pins a message, replacing its current pin. An identical pin changes nothing.

        Raises:
            MessageNotFound, SessionNotFound, SessionDeleted: there is no such message.
            PinsTooLarge: the pin budget would be exceeded; nothing was changed.
        """
        async with connected(self._pool, None) as own, own.transaction():
            await _lock(own, tenant, session_id, seq)
            before = await self._live(own, tenant, session_id, seq)
            if before and (before.author, before.reason, before.until) == (author.name, reason, until):
                return before
            await own.execute(_SQL["end"], tenant, session_id, seq, author.name)
            [added] = await own.fetch(_SQL["add"], tenant, session_id, seq, author.name, reason, until)
            made = _pin(added)
            await self.check(own, tenant, session_id)
            await _record(own, tenant, session_id, by=author, before=before, after=made)
        return made

    async def unpin(self, tenant: str, session_id: str, seq: int, *, by: Actor) -> bool:
        """Ends a message's pin; returns whether it had one.

        Raises:
            MessageNotFound, SessionNotFound, SessionDeleted: there is no such message.
        """
        async with connected(self._pool, None) as own, own.transaction():
            await _lock(own, tenant, session_id, seq)
            before = await self._live(own, tenant, session_id, seq)
            if before is None:
                return False
            await own.execute(_SQL["end"], tenant, session_id, seq, by.name)
            await _record(own, tenant, session_id, by=by, before=before, after=None)
        return True

    async def live(self, tenant: str, session_id: str) -> list[Pin]:
        """The live pins of a session, in sequence."""
        return [_pin(one) for one in await fetch(self._pool, _SQL["live"], tenant, session_id)]

    async def _live(self, own: Connection, tenant: str, session_id: str, seq: int) -> Pin | None:
        found = await own.fetchrow(_SQL["live_of"], tenant, session_id, seq)
        return None if found is None else _pin(found)

    async def tokens(self, tenant: str, session_id: str, connection: Connection | None = None) -> int:
        """Tokens of the live pins of a session with their tool groups."""
        async with connected(self._pool, connection) as own:
            rows = await own.fetch(_SQL["pinned_groups"], tenant, session_id, encoding_of(USUAL_MODELS[0]))
        return pinned_tokens((one["thread"], _ref(one)) for one in rows)

    async def check(self, connection: Connection, tenant: str, session_id: str) -> None:
        """Raises `PinsTooLarge` if the pin budget is exceeded; call it with the session's row locked."""
        check_pins(await self.tokens(tenant, session_id, connection), self.budget)


async def _lock(own: Connection, tenant: str, session_id: str, seq: int) -> None:
    """Locks the session's row; raises `MessageNotFound` if it has no such message."""
    await lock(own, tenant, session_id)
    if await own.fetchval(_SQL["message"], tenant, session_id, seq) is None:
        raise MessageNotFound(f"session {session_id!r} has no message {seq}: check session and number")


async def _record(
    own: Connection, tenant: str, session_id: str, *, by: Actor, before: Pin | None, after: Pin | None
) -> None:
    target, action = str(Scope(Kind.SESSION, session_id)), "pin.end" if after is None else "pin.set"
    await record(own, tenant, action, target, by=by, before=_audit_fields(before), after=_audit_fields(after))


def _audit_fields(pin: Pin | None) -> dict[str, Any] | None:
    if pin is None:
        return None
    return {"seq": pin.seq, "author": pin.author, "until": pin.until.isoformat() if pin.until else None}


def _pin(found: asyncpg.Record) -> Pin:
    return Pin(found["seq"], found["author"], found["reason"], found["pinned_at"], found["until"])


def _ref(one: asyncpg.Record) -> MessageRef:
    return MessageRef(
        one["seq"], one["role"], one["tokens"], tuple(one["call_ids"]), one["tool_call_id"], one["pinned"]
    )
