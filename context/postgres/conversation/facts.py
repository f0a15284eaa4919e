"""Postgres store of facts: derived from the messages of a thread, in steps, up to the last one that was read."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict

import asyncpg

from purser.budget.postgres.connections.pools import Pool, connected, retrying
from purser.budget.postgres.connections.queries import load
from purser.context.conversation.messages import Message, StoredMessage
from purser.context.facts import RULES_VERSION, Fact, Kind, changed_facts
from purser.context.postgres.conversation.placeholders import Placeholders
from purser.context.postgres.sessions.sessions import refusing_deleted

_SQL = load("purser.context.postgres.conversation", "facts.sql")
Thread = tuple[str, str, str]
"""Tenant, session and thread."""
STEP_MESSAGES = 200
"""Messages that are read at a time."""


class Facts:
    """Stores the facts of all tenants. Reading them first derives those of new messages, from redacted text.

    Appends do not wait for it, and facts that other rules derived are derived again.
    """

    def __init__(self, pool: Pool, placeholders: Placeholders, *, rules: int = RULES_VERSION) -> None:
        """Args:
        pool: from `purser.budget.postgres.connections.pools.create_pool`.
        placeholders: redacts the texts before facts are derived.
        rules: version of the rules.
        """
        self._pool = pool
        self._placeholders = placeholders
        self._rules = rules

    async def all(self, tenant: str, session_id: str, thread: str = "") -> list[Fact]:
        """The facts of a thread in sequence, including superseded ones.

        Raises:
            RedactionFailed: a detector failed, so nothing may be derived from a text.
            SessionDeleted: the session was deleted meanwhile.
        """
        while await self._step((tenant, session_id, thread)):
            pass
        return await self.stored(tenant, session_id, thread)

    async def stored(self, tenant: str, session_id: str, thread: str = "") -> list[Fact]:
        """The facts that are derived already."""
        async with connected(self._pool, None) as own:
            return list(map(_fact, await own.fetch(_SQL["all"], tenant, session_id, thread)))

    async def _step(self, key: Thread) -> bool:
        """Derives the facts of the next messages; returns whether there were any."""
        async with connected(self._pool, None) as own:
            known = await own.fetchrow(_SQL["progress"], *key)
            last_seq = known["last_seq"] if known and known["rules"] == self._rules else 0
            unread = await own.fetch(_SQL["unread"], *key, last_seq, STEP_MESSAGES)
            live = list(map(_fact, await own.fetch(_SQL["live"], *key))) if last_seq else []
        if not unread:
            return False
        tenant, session_id, thread = key
        changed, _ = await self._placeholders.redacted(
            tenant, session_id, lambda redactor: changed_facts(live, _messages(unread, thread), redactor.redact)
        )
        with refusing_deleted(session_id):
            await retrying(lambda: self._store(key, known, unread[-1]["seq"], changed))
        return True

    async def _store(self, key: Thread, known: asyncpg.Record | None, last_seq: int, changed: Iterable[Fact]) -> None:
        """Stores the facts of a step, unless another reader did so first."""
        reached = (*key, last_seq, self._rules)
        async with connected(self._pool, None) as own, own.transaction():
            if known is None:
                first = await own.fetchval(_SQL["begin"], *reached)
            else:
                first = await own.fetchval(_SQL["advance"], *reached, known["last_seq"], known["rules"])
            if first is None:
                return
            if known is None or known["rules"] != self._rules:
                await own.execute(_SQL["forget"], *key)
            await own.execute(_SQL["add"], *key, list(map(asdict, changed)))


def _messages(rows: Sequence[asyncpg.Record], thread: str) -> Iterator[StoredMessage]:
    for row in rows:
        message = Message.stored(row["body"])
        # The column is in UTC: only the message itself knows the day where it was written.
        yield StoredMessage(row["seq"], thread, message, {}, message.created_at or row["created_at"])


def _fact(row: asyncpg.Record) -> Fact:
    return Fact(**{**dict(row), "kind": Kind(row["kind"])})
