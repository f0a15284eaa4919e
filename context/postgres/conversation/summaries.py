"""Postgres store of summaries: versions that only grow, the claim to write the next one, and model health."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import asyncpg

from purser.budget.postgres.connections.pools import Connection, Pool, connected, execute, fetch, fetchrow, fetchval
from purser.budget.postgres.connections.queries import load
from purser.context.compression.layers import Layer
from purser.context.compression.summaries import Method, Summary
from purser.context.postgres.conversation.counts import USUAL_MODELS, count_messages, encoding_of

_SQL = load("purser.context.postgres.conversation", "summaries.sql")
FAILURES_IN_A_ROW = 3
"""Consecutive failures of the model on one conversation that begin a cooldown."""


@dataclass(frozen=True, slots=True)
class StoredSummary:
    """A stored version with its thread and time."""

    thread: str
    summary: Summary
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Uncovered:
    """What a window shows of a thread if nothing is left out."""

    messages: int
    """Messages that the summary does not cover."""
    tokens: int
    """Their tokens, and those of the summary."""
    last_seq: int
    """The newest of them; 0 if there is none."""
    fruitless_seq: int
    """Compressing up to this message frees too few tokens; 0 if that is not known."""


class Summaries:
    """Stores the summary versions of all tenants."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def latest(
        self,
        tenant: str,
        session_id: str,
        thread: str = "",
        *,
        model: str,
        upto: int | None = None,
        connection: Connection | None = None,
    ) -> Summary | None:
        """The newest version, or the newest that covers nothing after `upto`, with its tokens counted for `model`."""
        async with connected(self._pool, connection) as own:
            row = await own.fetchrow(_SQL["latest"], tenant, session_id, thread, upto)
            if row is None:
                return None
            found, encoding = _summary(row), encoding_of(model)
            if encoding in found.tokens:
                return found
            [counts] = await count_messages([found.message], [model])
            await own.execute(_SQL["add_counts"], tenant, session_id, thread, found.version, counts)
        return replace(found, tokens={**found.tokens, **counts})

    async def versions(self, tenant: str, session_id: str, thread: str | None = None) -> list[StoredSummary]:
        """All versions, oldest first: of one thread, or of all if `thread` is `None`."""
        rows = await fetch(self._pool, _SQL["versions"], tenant, session_id, thread)
        return [StoredSummary(row["thread"], _summary(row), row["created_at"]) for row in rows]

    async def by_key(self, tenant: str, session_id: str, key: str) -> Summary | None:
        """The version stored by the compression with this key, if there is one."""
        row = await fetchrow(self._pool, _SQL["by_key"], tenant, session_id, key)
        return None if row is None else _summary(row)

    async def uncovered(self, tenant: str, session_id: str, thread: str = "", *, model: str) -> Uncovered:
        """What a window shows if nothing is left out, without pins in the range of the summary."""
        row = await fetchrow(self._pool, _SQL["uncovered"], tenant, session_id, thread, encoding_of(model))
        return Uncovered(**dict(row)) if row else Uncovered(0, 0, 0, 0)

    async def texts(self, tenant: str, session_id: str, versions: Mapping[str, int]) -> dict[str, str]:
        """Texts by thread for the given versions by thread: what `render` needs for `WindowPlan.versions`."""
        rows = await fetch(self._pool, _SQL["texts"], tenant, session_id, list(versions), list(versions.values()))
        return {row["thread"]: row["text"] for row in rows}

    async def store(
        self, tenant: str, session_id: str, thread: str, summary: Summary, connection: Connection | None = None
    ) -> bool:
        """Adds a version if it follows the last one and extends the range that the last one covers.

        Returns:
            Whether it was added; if not, another version was stored first and nothing was written.
        """
        [counts] = await count_messages([summary.message], USUAL_MODELS)
        arguments = (
            tenant, session_id, thread, summary.version, summary.first_seq, summary.last_seq, summary.text, counts,
            summary.tokens_before, summary.tokens_after, summary.method, summary.model, summary.source_digest,
            summary.key, summary.hold_id, [layer.to_json() for layer in summary.layers], summary.source_characters,
            summary.prompt_version, summary.language, summary.fidelity, summary.trigger,
            summary.passed,
        )  # fmt: skip
        async with connected(self._pool, connection) as own:
            return await own.fetchval(_SQL["store"], *arguments) is not None

    async def claim(self, tenant: str, session_id: str, thread: str, key: str, lease_s: int) -> bool:
        """Claims the compression of a thread for `lease_s` seconds; the same key renews its claim."""
        lease = timedelta(seconds=lease_s)
        return await fetchval(self._pool, _SQL["claim"], tenant, session_id, thread, key, lease) is not None

    async def unclaim(self, tenant: str, session_id: str, thread: str, key: str) -> None:
        """Releases the claim, unless another key has taken it over."""
        await execute(self._pool, _SQL["unclaim"], tenant, session_id, thread, key)

    async def cooling(self, tenant: str, session_id: str, thread: str) -> bool:
        """Whether the model is in its cooldown after consecutive failures."""
        return await fetchval(self._pool, _SQL["cooling"], tenant, session_id, thread) is not None

    async def failed(self, tenant: str, session_id: str, thread: str, *, cooldown_s: int) -> bool:
        """Records a failure of the model; returns whether a cooldown begins."""
        arguments = (tenant, session_id, thread, FAILURES_IN_A_ROW, timedelta(seconds=cooldown_s))
        return bool(await fetchval(self._pool, _SQL["failed"], *arguments))

    async def succeeded(self, tenant: str, session_id: str, thread: str) -> None:
        """Records that the model wrote a summary and resets its failures."""
        await execute(self._pool, _SQL["succeeded"], tenant, session_id, thread)

    async def gained_nothing(self, tenant: str, session_id: str, thread: str, last_seq: int) -> None:
        """Records that compressing up to this message frees too few tokens."""
        await execute(self._pool, _SQL["gained_nothing"], tenant, session_id, thread, last_seq)

    async def is_fruitless(self, tenant: str, session_id: str, thread: str, last_seq: int) -> bool:
        """Whether compressing up to this message is known to free too few tokens."""
        return await fetchval(self._pool, _SQL["fruitless"], tenant, session_id, thread, last_seq) is not None


def _summary(row: asyncpg.Record) -> Summary:
    return Summary(
        version=row["version"],
        first_seq=row["first_seq"],
        last_seq=row["last_seq"],
        text=row["text"],
        method=Method(row["method"]),
        key=row["key"],
        tokens_before=row["tokens_before"],
        tokens_after=row["tokens_after"],
        source_digest=row["source_digest"],
        model=row["model"],
        hold_id=row["hold_id"],
        tokens=row["tokens"],
        layers=tuple(Layer.from_json(layer) for layer in row["layers"]),
        source_characters=row["source_characters"],
        prompt_version=row["prompt_version"],
        language=row["language"],
        fidelity=row["fidelity"],
        trigger=row["trigger"],
        passed=tuple(row["passed"]),
    )
