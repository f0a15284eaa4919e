"""Postgres store of conversations: append-only messages, addressed by session and sequence number."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import asyncpg

from purser.budget.postgres.connections.pools import Connection, Json, Pool, connected
from purser.budget.postgres.connections.queries import load
from purser.context.compression.summaries import Summary
from purser.context.conversation.conversations import Conversation, MessageRef, SummaryRef
from purser.context.conversation.messages import Message, StoredMessage
from purser.context.conversation.pins import PIN_BUDGET
from purser.context.errors import MessageNotFound, OriginReused, OtherUser
from purser.context.postgres.conversation.counts import (
    USUAL_MODELS,
    count_all,
    count_messages,
    encoding_of,
    off_the_loop,
)
from purser.context.postgres.conversation.pins import Pins
from purser.context.postgres.conversation.summaries import Summaries
from purser.context.postgres.sessions.sessions import refusing_deleted
from purser.context.windows.excerpts import NEWEST, Within, gap_of, included_seqs

_SQL = load("purser.context.postgres.conversation", "conversations.sql")
END = 2**53 - 1
"""Greater than every sequence number."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A stored message as listed."""

    stored: StoredMessage
    created_at: datetime
    pinned: bool
    """Whether it is pinned now; its body states whether it was appended as pinned."""


class Conversations:
    """Stores the messages of all tenants.

    Sequence numbers ascend from 1 in a session, across all threads. Some are skipped when the same append is sent twice
    concurrently.
    """

    def __init__(self, pool: Pool, pin_budget: int = PIN_BUDGET) -> None:
        """Args:
        pool: from `purser.budget.postgres.connections.pools.create_pool`.
        pin_budget: tokens that the live pins of one session may take together.
        """
        self._pool = pool
        self._pins = Pins(pool, pin_budget)
        self._summaries = Summaries(pool)

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
            messages: in order; characters that Postgres does not store are replaced.
            origin: idempotency key of the append in its session; a repeat returns the same numbers and adds nothing.
            thread: empty for the session's own conversation, else `{task_id}/{agent_id}`.
            model: an additional model to count for; one model of each vocabulary is always counted.
            user_id: owner of the session; stored by the first append that names one.
            author: name of the caller, stored as author of the pins of pinned messages.
            connection: connection whose transaction the append joins.

        Returns:
            The sequence numbers of the messages.

        Raises:
            OriginReused: the origin was used for other messages.
            OtherUser: the session belongs to another user.
            PinsTooLarge: the pinned messages exceed the pin budget.
            SessionDeleted: the session was deleted.
        """
        if not messages:
            return []
        ready = await off_the_loop(_prepare, messages, [*USUAL_MODELS, *([model] if model else [])])
        arguments = (tenant, session_id, thread, origin, ready.about, ready.bodies, user_id, author)
        async with connected(self._pool, connection) as own:
            if not any(message.pinned for message in messages):
                stored = await _append(own, arguments)
            else:
                async with own.transaction():
                    stored = await _append(own, arguments)
                    await self._pins.check(own, tenant, session_id)
        if not stored or (user_id and stored[0]["user_id"] not in (None, user_id)):
            raise OtherUser(f"session {session_id[:140]!r} belongs to another user than {str(user_id)[:140]!r}")
        if [row["digest"] for row in stored] != ready.digests:
            raise OriginReused(f"origin {origin[:200]!r} was used for other messages of this session: use a new origin")
        return [row["seq"] for row in stored]

    async def last_seq(self, tenant: str, session_id: str) -> int:
        """Sequence number of the newest message; 0 if there is none."""
        async with connected(self._pool, None) as own:
            return await own.fetchval(_SQL["last_seq"], tenant, session_id) or 0

    async def read(self, tenant: str, session_id: str, seqs: Collection[int]) -> dict[int, StoredMessage]:
        """Reads messages by sequence number, in order.

        Raises:
            MessageNotFound: the session has no such message.
        """
        async with connected(self._pool, None) as own:
            found = {row["seq"]: _stored(row) for row in await own.fetch(_SQL["read"], tenant, session_id, list(seqs))}
        if missing := sorted(set(seqs) - set(found)):
            raise MessageNotFound(
                f"session {session_id!r} has no message {missing[0]}: check tenant, session and number"
            )
        return found

    async def read_thread(
        self, tenant: str, session_id: str, thread: str = "", *, first: int = 1, last: int = END
    ) -> list[StoredMessage]:
        """Reads the messages of one thread in sequence, from `first` to `last`."""
        async with connected(self._pool, None) as own:
            rows = await own.fetch(_SQL["read_thread"], tenant, session_id, thread, first, last)
        return [_stored(row) for row in rows]

    async def page(
        self, tenant: str, session_id: str, *, thread: str | None = None, after: int = 0, limit: int = 100
    ) -> list[Listed]:
        """Lists messages after a sequence number, in sequence: of one thread, or of all if `thread` is `None`."""
        async with connected(self._pool, None) as own:
            rows = await own.fetch(_SQL["page"], tenant, session_id, thread, after, limit)
        return [Listed(_stored(row), row["created_at"], row["pinned"]) for row in rows]

    async def called(
        self, tenant: str, session_id: str, thread: str, call_ids: Collection[str], *, before: int
    ) -> set[str]:
        """The ids among `call_ids` that belong to a tool call of the thread before this sequence number."""
        async with connected(self._pool, None) as own:
            rows = await own.fetch(_SQL["callers"], tenant, session_id, thread, list(call_ids), before)
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
        whole: bool = False,
        within: Within | None = None,
    ) -> Conversation:
        """Reads a thread by reference with its latest summary; reads texts only to count them for `model` once.

        Args:
            tenant, session_id, thread: the conversation.
            model: the model whose tokenizer counts.
            upto: the last message to include.
            without: messages to leave out, such as the task's input, which is shown separately.
            whole: whether to include every message that the summary covers.
            within: upper bounds of what a window can show; of older messages only required ones are then included. Do
                not use it with `auto`, which chooses by the whole conversation.
        """
        summary = await self._summaries.latest(tenant, session_id, thread, model=model)
        arguments = (tenant, session_id, thread, encoding_of(model), upto)
        async with connected(self._pool, None) as own:
            rows, omitted = await self._refs(own, arguments, None if whole else summary, within)
        counts = await self._counted(tenant, session_id, rows, model)
        passed = frozenset(summary.passed) if summary else frozenset()
        refs = tuple(_ref(row, counts[row["seq"]], passed) for row in rows if row["seq"] not in without)
        return Conversation(thread, refs, _summary_ref(summary, model) if summary else None, omitted=omitted)

    async def tokens(self, tenant: str, session_id: str, seqs: Collection[int], *, model: str) -> dict[int, int]:
        """Token counts of single messages by sequence number.

        Raises:
            MessageNotFound: the session has no such message.
        """
        async with connected(self._pool, None) as own:
            rows = await own.fetch(_SQL["counts"], tenant, session_id, list(seqs), encoding_of(model))
        return await self._counted(tenant, session_id, rows, model)

    async def _refs(
        self, own: Connection, arguments: tuple[object, ...], summary: Summary | None, within: Within | None
    ) -> tuple[list[asyncpg.Record], tuple[int, int] | None]:
        """Rows of the included messages, and the omitted range, if any."""
        first, last, passed = (summary.first_seq, summary.last_seq, summary.passed) if summary else (1, 0, ())
        if within and (gap := await _gap(own, arguments, last, within)):
            rows = await own.fetch(_SQL["uncovered_refs"], *arguments, first if summary else gap[0], gap[1], passed)
            refs = [_ref(row, 0, passed) for row in rows]
            gap = gap_of(refs, gap, covered=last, primers=within.primers)
            if gap and not any(_is_marked_call(row, gap[1], passed) for row in rows):
                seqs = included_seqs(refs, gap)
                return [row for row in rows if row["seq"] in seqs], gap
        if summary:
            rows = await own.fetch(_SQL["uncovered_refs"], *arguments, first, last, passed)
            if not any(_is_marked_call(row, last, passed) for row in rows):
                return rows, None
        # Nothing is omitted, or a required message belongs to a group in the omitted range: read the whole thread.
        return await own.fetch(_SQL["refs"], *arguments), None

    async def _counted(
        self, tenant: str, session_id: str, rows: Sequence[asyncpg.Record], model: str
    ) -> dict[int, int]:
        """Token counts by sequence number; counts that are missing for this encoding are computed and stored."""
        known = {row["seq"]: row["tokens"] for row in rows if row["tokens"] is not None}
        unknown = [row["seq"] for row in rows if row["tokens"] is None]
        if not unknown:
            return known
        stored = await self.read(tenant, session_id, unknown)
        encoding = encoding_of(model)
        counts = await count_messages([stored[seq].message for seq in unknown], [model])
        added = {seq: count[encoding] for seq, count in zip(unknown, counts, strict=True)}
        async with connected(self._pool, None) as own:
            await own.execute(_SQL["add_counts"], tenant, session_id, encoding, list(added), list(added.values()))
        return known | added


async def _gap(own: Connection, arguments: tuple[object, ...], covered: int, within: Within) -> tuple[int, int] | None:
    """First and last message after the summary that no window can show, judged by tokens alone."""
    [row] = await own.fetch(_SQL["excerpt"], *arguments, within.tokens, within.primers, NEWEST)
    head, tail = covered or row["head"], row["tail"]
    return (head + 1, tail) if tail is not None and tail > head else None


async def _append(own: Connection, arguments: tuple[object, ...]) -> list[asyncpg.Record]:
    with refusing_deleted(str(arguments[1])):
        return await own.fetch(_SQL["append"], *arguments) or await own.fetch(_SQL["append"], *arguments)


@dataclass(frozen=True, slots=True)
class _Prepared:
    """The values that an append stores."""

    digests: list[str]
    about: Json
    bodies: list[str]


def _prepare(messages: Sequence[Message], models: Sequence[str]) -> _Prepared:
    messages = [message.storable() for message in messages]
    counts = count_all(messages, models)
    about = [_about(message, tokens) for message, tokens in zip(messages, counts, strict=True)]
    return _Prepared(
        [str(one["digest"]) for one in about],
        Json(json.dumps(about)),
        [json.dumps(message.to_dict()) for message in messages],
    )


def _about(message: Message, tokens: Mapping[str, int]) -> dict[str, Any]:
    return {
        "role": message.role,
        "call_ids": message.call_ids,
        "tool_call_id": message.tool_call_id,
        "pinned": message.pinned,
        "digest": message.digest,
        "tokens": tokens,
    }


def _stored(row: asyncpg.Record) -> StoredMessage:
    return StoredMessage(row["seq"], row["thread"], Message.parse(row["body"], row["seq"]), row["tokens"])


def _ref(row: asyncpg.Record, tokens: int, passed: Collection[int]) -> MessageRef:
    passed_over = row["seq"] in passed
    return MessageRef(
        row["seq"], row["role"], tokens, tuple(row["call_ids"]), row["tool_call_id"], row["pinned"], passed_over
    )


def _summary_ref(summary: Summary, model: str) -> SummaryRef:
    return SummaryRef(summary.version, summary.first_seq, summary.last_seq, summary.tokens[encoding_of(model)])


def _is_marked_call(row: asyncpg.Record, watermark: int, passed: Collection[int]) -> bool:
    marked = row["pinned"] or row["seq"] in passed
    return row["seq"] <= watermark and marked and bool(row["call_ids"] or row["tool_call_id"])
