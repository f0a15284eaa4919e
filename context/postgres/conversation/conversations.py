"""Postgres store of conversations: append-only messages, addressed by session and sequence number."""

from collections.abc import Collection, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import asyncpg
from pydantic_core import to_json

from purser.budget.postgres.connections.pools import Connection, Pool, connected, execute, fetch, fetchval
from purser.budget.postgres.connections.queries import load
from purser.context.compression.summaries import Summary
from purser.context.conversation.conversations import Conversation, Figures, SummaryRef
from purser.context.conversation.messages import Message, StoredMessage, check_time, json_and_digest
from purser.context.conversation.pins import PIN_BUDGET
from purser.context.errors import MessageNotFound, OriginReused, OtherUser
from purser.context.postgres.conversation.counts import (
    USUAL_MODELS,
    count_messages,
    encoding_of,
    off_the_loop,
)
from purser.context.postgres.conversation.pins import Pins
from purser.context.postgres.conversation.references import (
    Placed,
    Source,
    message_refs,
    omitted_figures,
    placed,
    positions,
    read_references,
)
from purser.context.postgres.conversation.running_figures import RunningFigures
from purser.context.postgres.conversation.summaries import Summaries
from purser.context.postgres.sessions.sessions import check_not_deleted, refusing_deleted
from purser.context.tokens import tokenizer_of
from purser.context.tokens.counting import begin_counting
from purser.context.windows.excerpts import Within

_SQL = load("purser.context.postgres.conversation", "conversations.sql")
_ORIGIN = "messages_tenant_session_id_origin_part_key"
"""Constraint that keeps an origin from being appended twice."""
END = 2**53 - 1
"""Greater than every sequence number."""


def origin_of_replies(task_id: str) -> str:
    """Origin of the last replies that a task appends to its session; of `%`, a pattern of `like` for all tasks."""
    return f"task:{task_id}:replies"


@dataclass(frozen=True, slots=True)
class Listed:
    """A stored message as listed."""

    stored: StoredMessage
    created_at: datetime
    pinned: bool
    """Whether it is pinned now; its body states whether it was appended as pinned."""


class Conversations:
    """Stores the messages of all tenants.

    Sequence numbers ascend from 1 in a session without gaps, across all threads.
    """

    def __init__(self, pool: Pool, pin_budget: int = PIN_BUDGET) -> None:
        """Args:
        pool: from `purser.budget.postgres.connections.pools.create_pool`.
        pin_budget: tokens that the live pins of one session may take together.
        """
        self._pool = pool
        self._pins = Pins(pool, pin_budget)
        self._summaries = Summaries(pool)
        self._running = RunningFigures()

    async def append(
        self,
        tenant: str,
        session_id: str,
        messages: Sequence[Message],
        *,
        origin: str,
        thread: str = "",
        model: str | None = None,
        user_id: str | None = None,
        author: str = "",
        connection: Connection | None = None,
    ) -> list[int]:
        """Appends messages to a session atomically; creates the session if it does not exist.

        Locks the session's row until the transaction ends: append before any ledger write in the same transaction.

        Args:
            tenant, session_id: the session.
            messages: in order; characters that Postgres does not store are replaced. One without a time gets that of
                the append.
            origin: idempotency key of the append in its session; a repeat returns the same numbers and adds nothing.
            thread: empty for the session's own conversation, else `{task_id}/{agent_id}`.
            model: an additional model to count for; one model of each vocabulary is always counted.
            user_id: owner of the session; stored by the first append that names one, which may be a repeat.
            author: name of the caller, stored as author of the pins of pinned messages.
            connection: connection whose transaction the append joins.

        Returns:
            The sequence numbers of the messages.

        Raises:
            InvalidMessage: a message lies in the future.
            OriginReused: the origin was used for other messages.
            OtherUser: the session belongs to another user.
            PinsTooLarge: the pinned messages exceed the pin budget.
            SessionDeleted: the session was deleted.
        """
        if not messages:
            return []
        for index, message in enumerate(messages):
            check_time(message, index, datetime.now(UTC))
        ready = await off_the_loop(_prepare, messages, [*USUAL_MODELS, *([model] if model else [])])
        arguments = (tenant, session_id, thread, origin, *ready.columns, user_id, author)
        async with connected(self._pool, connection) as own:
            if not any(message.pinned for message in messages):
                stored = await _append(own, arguments)
            else:
                async with own.transaction():
                    stored = await _append(own, arguments)
                    await self._pins.check(own, tenant, session_id)
            owner = stored[0]["user_id"] if stored else None
            is_reused = bool(stored) and [row["digest"] for row in stored] != ready.digests
            if user_id and stored and owner is None and not is_reused:
                owner = await own.fetchval(_SQL["own"], tenant, session_id, user_id)
        if not stored or (user_id and owner not in (None, user_id)):
            raise OtherUser(f"session {session_id[:140]!r} belongs to another user than {str(user_id)[:140]!r}")
        if is_reused:
            raise OriginReused(f"origin {origin[:200]!r} was used for other messages of this session: use a new origin")
        return [row["seq"] for row in stored]

    async def times(self, tenant: str, session_id: str, seqs: Collection[int]) -> dict[int, datetime]:
        """Times of messages by sequence number, in UTC; raises the same errors as `tokens`."""
        rows = await self._rows("times", tenant, session_id, seqs)
        return {row["seq"]: row["created_at"] for row in rows}

    async def last_seq(self, tenant: str, session_id: str) -> int:
        """Sequence number of the newest message; 0 if there is none."""
        return await fetchval(self._pool, _SQL["last_seq"], tenant, session_id) or 0

    async def read(self, tenant: str, session_id: str, seqs: Collection[int]) -> dict[int, StoredMessage]:
        """Reads messages by sequence number, in order.

        Raises:
            MessageNotFound: the session has no such message.
        """
        rows = await fetch(self._pool, _SQL["read"], tenant, session_id, list(seqs))
        found = {row["seq"]: _stored(row) for row in rows}
        if missing := set(seqs).difference(found):
            raise _not_found(session_id, missing)
        return found

    async def texts(self, tenant: str, session_id: str, seqs: Collection[int]) -> dict[int, Message]:
        """Reads the messages of a window by sequence number; raises the same errors as `tokens`."""
        rows = await self._rows("texts", tenant, session_id, seqs)
        return {row["seq"]: Message.stored(row["body"]) for row in rows}

    async def names(self, tenant: str, session_id: str, seqs: Collection[int], *, origin: str) -> dict[int, str]:
        """Names of speakers by sequence number, of those messages whose origin matches this pattern of `like`."""
        rows = await fetch(self._pool, _SQL["names"], tenant, session_id, list(seqs), origin)
        return {row["seq"]: row["name"] for row in rows}

    async def read_thread(
        self, tenant: str, session_id: str, thread: str = "", *, first: int = 1, last: int = END
    ) -> list[StoredMessage]:
        """Reads the messages of one thread in sequence, from `first` to `last`."""
        rows = await fetch(self._pool, _SQL["read_thread"], tenant, session_id, thread, first, last)
        return [_stored(row) for row in rows]

    async def page(
        self, tenant: str, session_id: str, *, thread: str | None = None, after: int = 0, limit: int = 100
    ) -> list[Listed]:
        """Lists messages after a sequence number, in sequence: of one thread, or of all if `thread` is `None`."""
        rows = await fetch(self._pool, _SQL["page"], tenant, session_id, thread, after, limit)
        return [Listed(_stored(row), row["created_at"], row["pinned"]) for row in rows]

    async def called(
        self, tenant: str, session_id: str, thread: str, call_ids: Collection[str], *, before: int
    ) -> set[str]:
        """The ids among `call_ids` that belong to a tool call of the thread before this sequence number."""
        rows = await fetch(self._pool, _SQL["callers"], tenant, session_id, thread, list(call_ids), before)
        return {row["id"] for row in rows}

    async def conversation(
        self,
        tenant: str,
        session_id: str,
        thread: str = "",
        *,
        model: str,
        upto: int = END,
        without: Collection[int] = (),
        newest_summary: bool = False,
        whole: bool = False,
        within: Within | None = None,
    ) -> Conversation:
        """Reads a thread by reference with its latest summary; reads texts only to count them for `model` once.

        The latest of those that cover nothing after `upto`: it shows what the thread was then, whoever goes on.

        Args:
            tenant, session_id, thread: the conversation.
            model: the model whose tokenizer counts.
            upto: the last message to include.
            without: messages to leave out, such as the task's input, which is shown separately.
            newest_summary: whether to take the newest summary, even if it covers messages after `upto`.
            whole: whether to include every message that the summary covers.
            within: upper bounds of what a window can show; of older messages only required ones are then included.
        """
        source = Source(tenant, session_id, thread, upto, tokenizer_of(model))
        async with connected(self._pool, None) as own:
            summary = await self._summaries.latest(
                tenant, session_id, thread, model=model, upto=None if newest_summary else upto, connection=own
            )
            found = await read_references(own, self._running, source, summary, within, whole=whole)
            figures = await omitted_figures(own, self._running, source, found)
        counts = await self._counted(tenant, session_id, found.rows, model)
        refs = message_refs(found.rows, (counts[row["seq"]] for row in found.rows))
        if gap := found.omitted:
            figures -= Figures.of([ref for ref in refs if gap[0] <= ref.seq <= gap[1]])
        messages = tuple(ref for ref in refs if ref.seq not in without) if without else refs
        covered = _summary_ref(summary, model) if summary else None
        return Conversation(thread, messages, covered, omitted=found.omitted, omitted_figures=figures)

    async def placed(
        self, tenant: str, session_id: str, thread: str, *, model: str, within: Within, summarized: bool = True
    ) -> tuple[Placed, Summary | None]:
        """Reads what a window can show of a whole thread, with the position of each message, and its latest summary.

        Args:
            tenant, session_id, thread: the conversation.
            model: the model whose tokenizer counts.
            within: upper bounds of what the window can show.
            summarized: whether the summary replaces what it covers; otherwise these messages are read, and no summary.
        """
        source, summary = Source(tenant, session_id, thread, END, tokenizer_of(model)), None
        async with connected(self._pool, None) as own:
            if summarized:
                summary = await self._summaries.latest(tenant, session_id, thread, model=model, connection=own)
            found = await read_references(own, self._running, source, summary, within)
            at = await positions(own, self._running, source, found, summary)
        # Without a connection of its own: counting may take long.
        counts = await self._counted(tenant, session_id, found.rows, model)
        return placed(thread, found, counts, at, _summary_ref(summary, model) if summary else None), summary

    async def tokens(self, tenant: str, session_id: str, seqs: Collection[int], *, model: str) -> dict[int, int]:
        """Token counts of single messages by sequence number.

        Raises:
            MessageNotFound: the session has no such message.
            SessionDeleted: the session was deleted.
        """
        rows = await self._rows("counts", tenant, session_id, seqs, encoding_of(model))
        return await self._counted(tenant, session_id, rows, model)

    async def _rows(
        self, name: str, tenant: str, session_id: str, seqs: Collection[int], *arguments: object
    ) -> list[asyncpg.Record]:
        """A row for each of these messages, which may have been deleted since they were listed."""
        async with connected(self._pool, None) as own:
            rows = await own.fetch(_SQL[name], tenant, session_id, list(seqs), *arguments)
            if missing := set(seqs).difference(row["seq"] for row in rows):
                await check_not_deleted(own, tenant, session_id)
                raise _not_found(session_id, missing)
        return rows

    async def _counted(
        self, tenant: str, session_id: str, rows: Sequence[asyncpg.Record], model: str
    ) -> dict[int, int]:
        """Token counts by sequence number; counts that are missing for this encoding are computed and stored."""
        known = {row["seq"]: row["tokens"] for row in rows if row["tokens"] is not None}
        unknown = [row["seq"] for row in rows if row["tokens"] is None]
        if not unknown:
            return known
        stored = await self.texts(tenant, session_id, unknown)
        encoding = encoding_of(model)
        counts = await count_messages([stored[seq] for seq in unknown], [model])
        added = {seq: count[encoding] for seq, count in zip(unknown, counts, strict=True)}
        await execute(self._pool, _SQL["add_counts"], tenant, session_id, encoding, list(added), list(added.values()))
        return known | added


async def _append(own: Connection, arguments: tuple[object, ...]) -> list[asyncpg.Record]:
    with refusing_deleted(str(arguments[1])):
        try:
            # A savepoint keeps the caller's transaction usable; without one, the statement is its own transaction.
            async with own.transaction() if own.is_in_transaction() else nullcontext():
                return await own.fetch(_SQL["append"], *arguments)
        except asyncpg.UniqueViolationError as error:
            if error.constraint_name != _ORIGIN:
                raise
            return await own.fetch(_SQL["append"], *arguments)


@dataclass(frozen=True, slots=True)
class _Prepared:
    """The values that an append stores."""

    digests: list[str]
    columns: tuple[list[Any], ...]
    """In the order of the statement, the digests among them."""


def _prepare(messages: Sequence[Message], models: Sequence[str]) -> _Prepared:
    messages = [message.storable() for message in messages]
    bodies = [message.to_dict() for message in messages]
    counts = begin_counting(bodies, models)
    texts, digests = map(list, zip(*map(json_and_digest, bodies), strict=True))
    columns = (
        [message.role for message in messages],
        texts,
        [_json(message.call_ids) for message in messages],
        [message.tool_call_id for message in messages],
        [message.pinned for message in messages],
        digests,
        list(map(_json, counts())),
        [message.created_at for message in messages],
        [len(message.text) for message in messages],
    )
    return _Prepared(digests, columns)


def _json(value: object) -> str:
    # Half the time of `json.dumps`, which messages need: only it writes every text and number as it came.
    return to_json(value).decode()


def _not_found(session_id: str, missing: Collection[int]) -> MessageNotFound:
    return MessageNotFound(f"session {session_id!r} has no message {min(missing)}: check tenant, session and number")


def _stored(row: asyncpg.Record) -> StoredMessage:
    message = Message.stored(row["body"])
    return StoredMessage(
        row["seq"], row["thread"], message, row["tokens"], created_at=message.created_at or row["created_at"]
    )


def _summary_ref(summary: Summary, model: str) -> SummaryRef:
    return SummaryRef(summary.version, summary.first_seq, summary.last_seq, summary.tokens[encoding_of(model)])
