"""Compresses one conversation of a session into the next version of its summary.

Idempotent by key: a compression that was stored is answered from its row. One runs per conversation at a time, and no
transaction is open while a model writes. Messages that arrive meanwhile stay verbatim, because a version covers the
range that was read and nothing else. Only redacted text is sent, picked from, or stored. Version, facts and settlement
share one transaction: whoever dies before it leaves the last version standing, and what a call may have cost charged.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from temporalio import activity

from purser.activities.background import beside, heartbeats
from purser.activities.calls.uncancelled import finished
from purser.activities.compression.versions import Job, Material, version_of
from purser.activities.compression.writing import COOLING_DOWN, Order, Writer
from purser.activities.metrics import Metrics
from purser.activities.models.summarizer import Summarizer
from purser.budget.postgres.connections.pools import Pool, connected, retrying
from purser.budget.scopes import Path
from purser.context.compression.ranges import choose_range
from purser.context.compression.summaries import Summary
from purser.context.errors import RedactionFailed
from purser.context.postgres.conversation.conversations import Conversations
from purser.context.postgres.conversation.facts import Facts
from purser.context.postgres.conversation.placeholders import Placeholders
from purser.context.postgres.conversation.summaries import Summaries
from purser.context.settings import ContextSettings
from purser.workflows.contract import ActivityName, CompressInput, CompressResult, Trigger

LEASE_S = 120
"""How long a compression whose worker died keeps others away."""
COOLDOWN_S = 600
"""How long a model that failed three times in a row is left alone."""
PATIENCE_S = 30.0
"""How long a call that would overflow waits for a compression that runs already."""
_LOOK_S = 0.2
"""Between two looks whether another compression is done."""


@dataclass(frozen=True, slots=True)
class Compressing:
    """For whom a conversation is compressed."""

    path: Path
    """Whose budget pays for a model."""
    model: str
    """Whose counter applies: the model that will read the summary."""
    settings: ContextSettings
    budget: int
    """Context budget."""


ForWhom = Callable[[CompressInput], Awaitable[Compressing]]
Choose = Callable[[str], Summarizer | None]
"""The summarizer that a request names; `None`: no model is asked."""


class CompressContext:
    """The activity `compress_context`."""

    def __init__(
        self,
        pool: Pool,
        for_whom: ForWhom,
        choose: Choose,
        placeholders: Placeholders,
        metrics: Metrics,
        *,
        cooldown_s: int = COOLDOWN_S,
    ) -> None:
        """Args:
        pool: of the database that holds conversations and ledger.
        for_whom: path, model, settings and budget of a request.
        choose: the model that writes.
        placeholders: redact text before it is sent, picked from or stored.
        metrics: where it is counted.
        cooldown_s: how long a model that failed three times in a row is left alone.
        """
        self._pool = pool
        self._for_whom = for_whom
        self._choose = choose
        self._placeholders = placeholders
        self._metrics = metrics
        self._cooldown_s = cooldown_s
        self._conversations = Conversations(pool)
        self._summaries = Summaries(pool)
        self._facts = Facts(pool)

    @activity.defn(name=ActivityName.COMPRESS_CONTEXT)
    async def compress_context(self, request: CompressInput) -> CompressResult:
        """Stores the next version of a summary, or says why there is none."""
        if stored := await self._summaries.by_key(request.tenant, request.session_id, request.key):
            return _result(stored)
        async with beside(heartbeats()):
            if not await self._claimed(request):
                return CompressResult(version=0, reason="busy")
            try:
                async with beside(self._keep_claim(request)):
                    return await self._compress(request)
            except RedactionFailed:
                return self._none("redaction_failed")
            finally:
                await finished(self._summaries.unclaim(*_thread(request), request.key))

    async def _claimed(self, request: CompressInput) -> bool:
        """Whether this compression is the only one of its conversation. A call that would overflow waits for that."""
        until = time.monotonic() + (PATIENCE_S if request.trigger == Trigger.OVERFLOW else 0)
        while not await self._summaries.claim(*_thread(request), request.key, LEASE_S):
            if time.monotonic() >= until:
                return False
            await asyncio.sleep(_LOOK_S)
        return True

    async def _keep_claim(self, request: CompressInput) -> None:
        while True:
            await asyncio.sleep(LEASE_S / 3)
            await self._summaries.claim(*_thread(request), request.key, LEASE_S)

    async def _compress(self, request: CompressInput) -> CompressResult:
        began = time.monotonic()
        whom, thread = await self._for_whom(request), _thread(request)
        conversation = await self._conversations.conversation(*thread, model=whom.model)
        last = await self._summaries.latest(*thread, model=whom.model)
        span = choose_range(conversation, whom.settings, request.budget_tokens or whom.budget)
        if span is None:
            return CompressResult(version=0, reason="nothing_to_cover")
        if (last.version if last else 0) != (conversation.summary.version if conversation.summary else 0):
            return CompressResult(version=0, reason="busy")
        if request.trigger != Trigger.REQUEST and await self._summaries.is_fruitless(*thread, span.last_seq):
            return CompressResult(version=0, reason="no_gain")
        job = Job(
            request, whom.model, span, last, await self._material(request, span.seqs), await self._facts.all(*thread)
        )
        writer = await self._writer(request, whom, job)
        try:
            summary = await version_of(job, writer, whom.settings.wishes)
            return await finished(self._finish(job, writer, summary, began))
        finally:
            await finished(writer.settle())

    async def _material(self, request: CompressInput, seqs: tuple[int, ...]) -> Material:
        """What is newly covered, redacted."""
        stored = await self._conversations.read(request.tenant, request.session_id, seqs)
        found, _ = await self._placeholders.redacted(
            request.tenant, request.session_id, lambda redactor: Material.of(list(stored.values()), redactor)
        )
        self._metrics.redacted(found.redacted)
        return found

    async def _writer(self, request: CompressInput, whom: Compressing, job: Job) -> Writer:
        summarizer = self._choose(request.summarizer)
        cooling = summarizer is not None and await self._summaries.cooling(*_thread(request))
        order = Order(request.tenant, request.key, whom.path, whom.model, whom.settings.wishes, job.language)

        async def redact(text: str) -> str:
            tenant, session_id = request.tenant, request.session_id
            found, counts = await self._placeholders.redacted(
                tenant, session_id, lambda redactor: redactor.redact(text)
            )
            self._metrics.redacted(counts)
            return found

        return Writer(order, summarizer, redact, fault=COOLING_DOWN if cooling else "")

    async def _finish(self, job: Job, writer: Writer, summary: Summary | None, began: float) -> CompressResult:
        """Stores version and facts and settles the last call, in one transaction."""
        thread = _thread(job.request)
        await self._tell_health(job, writer, summary)
        if summary is None:
            return self._none("no_gain")

        async def store_and_settle() -> bool:
            async with connected(self._pool, None) as connection, connection.transaction():
                stored = await self._summaries.store(*thread, summary, connection)
                if stored:
                    await self._facts.add(*thread, job.material.facts, connection)
                await writer.settle(connection)
                return stored

        stored = await retrying(store_and_settle)
        writer.pending = None
        if stored:
            seconds = time.monotonic() - began
            self._metrics.compressed(
                job.request.trigger, summary.method, summary.tokens_before, summary.tokens_after, seconds
            )
            return _result(summary)
        # Another one stored this version meanwhile; perhaps an earlier try of this very compression.
        other = await self._summaries.by_key(job.request.tenant, job.request.session_id, job.request.key)
        return _result(other) if other else CompressResult(version=0, reason="busy")

    async def _tell_health(self, job: Job, writer: Writer, summary: Summary | None) -> None:
        """Notes how it went: for the metrics, for the pause after failures, and not to try in vain."""
        thread = _thread(job.request)
        if writer.fault:
            self._metrics.fell_back(writer.fault)
        if writer.failed and await self._summaries.failed(*thread, cooldown_s=self._cooldown_s):
            self._metrics.cooling_down()
        if writer.by_model:
            await self._summaries.succeeded(*thread)
        if summary is None:
            await self._summaries.gained_nothing(*thread, job.span.last_seq)

    def _none(self, reason: str) -> CompressResult:
        self._metrics.compression_failed(reason)
        return CompressResult(version=0, reason=reason)


def _thread(request: CompressInput) -> tuple[str, str, str]:
    return request.tenant, request.session_id, request.thread


def _result(summary: Summary) -> CompressResult:
    return CompressResult(
        version=summary.version,
        first_seq=summary.first_seq,
        last_seq=summary.last_seq,
        tokens_before=summary.tokens_before,
        tokens_after=summary.tokens_after,
        method=summary.method,
    )
