"""The activity `compress_context`: compresses one conversation of a session into the next version of its summary.

It is idempotent by key: a stored compression is answered from its row. One runs per conversation at a time, and no
transaction is open while a model writes. Messages that arrive in the meantime stay verbatim, because a version covers
only the range that was read. Only redacted text is sent, extracted or stored. Version and settlement share one
transaction: after a crash before it, the last version remains and the possible cost of a call is charged.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from temporalio import activity

from purser.activities.calls.uncancelled import uncancelled
from purser.activities.compression.summarizer import Summarizer
from purser.activities.compression.versions import CompressionInput, CompressionRun, version_of
from purser.activities.compression.writing import COOLING_DOWN, Writer, WriteRequest
from purser.activities.runtime.background import heartbeats, in_background
from purser.activities.runtime.metrics import Metrics
from purser.budget.holds import check_range
from purser.budget.postgres.connections.pools import Pool, connected, retrying
from purser.budget.scopes import Path
from purser.context.compression.ranges import Range, choose_range
from purser.context.compression.summaries import Method, Summary
from purser.context.conversation.conversations import Conversation
from purser.context.conversation.messages import SYSTEM_ROLES, StoredMessage
from purser.context.errors import RedactionFailed
from purser.context.postgres.conversation.conversations import END, Conversations
from purser.context.postgres.conversation.facts import Facts
from purser.context.postgres.conversation.placeholders import Placeholders
from purser.context.postgres.conversation.summaries import Summaries
from purser.context.settings import ContextSettings
from purser.workflows.contract import ActivityName, CompressInput, CompressResult, Trigger

LEASE_S = 120
"""Seconds for which a compression whose worker died blocks others."""
COOLDOWN_S = 600
"""Seconds for which a model that failed three times in a row is not asked."""
OVERFLOW_WAIT_S = 30.0
"""Longest wait of a call that would overflow for a compression that is already running."""
_POLL_S = 0.2
"""Pause between two checks whether another compression has finished."""


@dataclass(frozen=True, slots=True)
class CompressionTarget:
    """The agent or session for which a conversation is compressed."""

    path: Path
    """Scopes that pay for the model that writes."""
    model: str
    """Model that will read the summary; its tokenizer counts."""
    settings: ContextSettings
    budget: int
    """Context budget in tokens."""
    upto: int = END
    """The agent's input: its windows show nothing of the session's own conversation after it."""


ResolveTarget = Callable[[CompressInput], Awaitable[CompressionTarget]]
"""Finds the target of a request."""
ChooseSummarizer = Callable[[str], Summarizer | None]
"""Finds the summarizer that a request names; `None`: no model is asked."""


class CompressContext:
    """The activity `compress_context`."""

    def __init__(
        self,
        pool: Pool,
        resolve_target: ResolveTarget,
        choose: ChooseSummarizer,
        placeholders: Placeholders,
        metrics: Metrics,
        *,
        cooldown_s: int = COOLDOWN_S,
    ) -> None:
        """Args:
        pool: of the database that holds conversations and ledger.
        resolve_target: finds path, model, settings and budget of a request.
        choose: finds the model that writes.
        placeholders: redacts text before it is sent, extracted or stored.
        metrics: counts compressions.
        cooldown_s: seconds for which a model that failed three times in a row is not asked.
        """
        self._pool = pool
        self._resolve_target = resolve_target
        self._choose = choose
        self._placeholders = placeholders
        self._metrics = metrics
        self._cooldown_s = cooldown_s
        self._conversations = Conversations(pool)
        self._summaries = Summaries(pool)
        self._facts = Facts(pool, placeholders)

    @activity.defn(name=ActivityName.COMPRESS_CONTEXT)
    async def compress_context(self, request: CompressInput) -> CompressResult:
        """Stores the next version of a summary, or returns why there is none.

        Raises:
            InvalidRequest: the budget is negative.
        """
        check_range(request.budget_tokens, "budget_tokens", 0)
        if stored := await self._summaries.by_key(request.tenant, request.session_id, request.key):
            return _result(stored)
        async with in_background(heartbeats()):
            if not await self._claim(request):
                return CompressResult(version=0, reason="busy")
            try:
                async with in_background(self._renew_claim(request)):
                    return await self._compress(request)
            except RedactionFailed:
                self._metrics.compression_failed("redaction_failed")
                return CompressResult(version=0, reason="redaction_failed")
            except Exception as error:
                self._metrics.compression_failed(type(error).__name__)
                raise
            finally:
                await uncancelled(self._summaries.unclaim(*_thread(request), request.key))

    async def _claim(self, request: CompressInput) -> bool:
        """Claims the conversation for this compression; a call that would overflow waits for the claim of others."""
        until = time.monotonic() + (OVERFLOW_WAIT_S if request.trigger == Trigger.OVERFLOW else 0)
        while not await self._summaries.claim(*_thread(request), request.key, LEASE_S):
            if time.monotonic() >= until:
                return False
            await asyncio.sleep(_POLL_S)
        return True

    async def _renew_claim(self, request: CompressInput) -> None:
        while True:
            await asyncio.sleep(LEASE_S / 3)
            await self._summaries.claim(*_thread(request), request.key, LEASE_S)

    async def _compress(self, request: CompressInput) -> CompressResult:
        began = time.monotonic()
        target, thread = await self._resolve_target(request), _thread(request)
        upto = END if request.thread else target.upto
        conversation = await self._conversations.conversation(*thread, model=target.model, upto=upto)
        last = await self._summaries.latest(*thread, model=target.model)
        if last is not None and last.last_seq > upto:
            return CompressResult(version=0, reason="nothing_to_cover")
        span = choose_range(conversation, target.settings, request.budget_tokens or target.budget)
        if span is None:
            return CompressResult(version=0, reason="nothing_to_cover")
        if (last.version if last else 0) != (conversation.summary.version if conversation.summary else 0):
            return CompressResult(version=0, reason="busy")
        if request.trigger != Trigger.REQUEST and await self._summaries.is_fruitless(*thread, span.last_seq):
            return CompressResult(version=0, reason="no_gain")
        facts = [fact for fact in await self._facts.all(*thread) if span.first_seq <= fact.seq <= span.last_seq]
        found = await self._input(request, target.settings.seen(conversation), span, last)
        run = CompressionRun(
            request, target.model, span, last, found, facts, lengths=target.settings.summary_header is None
        )
        writer = await self._writer(request, target, run)
        try:
            summary = await version_of(run, writer, target.settings.keep_rules)
            return await uncancelled(self._finish(run, writer, summary, began))
        finally:
            await uncancelled(writer.settle())

    async def _input(
        self, request: CompressInput, conversation: Conversation, span: Range, last: Summary | None
    ) -> CompressionInput:
        """Reads and redacts the messages that the version newly covers, and those of the newest extract."""
        tenant, session_id, thread = _thread(request)
        stored = await self._conversations.read(tenant, session_id, span.seqs)
        earlier: list[StoredMessage] = []
        if last is not None and last.method is Method.EXTRACTIVE:
            newest = last.parts[-1]
            shown = {seq for group in conversation.groups for seq in group.seqs}
            earlier = await self._conversations.read_thread(
                tenant, session_id, thread, first=newest.first_seq, last=newest.last_seq
            )
            earlier = [one for one in earlier if one.seq not in shown and one.message.role not in SYSTEM_ROLES]
        found, _ = await self._placeholders.redacted(
            tenant, session_id, lambda redactor: CompressionInput.of(list(stored.values()), redactor, earlier)
        )
        self._metrics.redacted(found.redacted)
        return found

    async def _writer(self, request: CompressInput, target: CompressionTarget, run: CompressionRun) -> Writer:
        summarizer = self._choose(request.summarizer)
        cooling = summarizer is not None and await self._summaries.cooling(*_thread(request))
        writing = WriteRequest(
            request.tenant, request.key, target.path, target.model, target.settings.keep_rules, run.language
        )

        async def redact(text: str) -> str:
            tenant, session_id = request.tenant, request.session_id
            found, counts = await self._placeholders.redacted(
                tenant, session_id, lambda redactor: redactor.redact(text)
            )
            self._metrics.redacted(counts)
            return found

        return Writer(writing, summarizer, redact, fault=COOLING_DOWN if cooling else "")

    async def _finish(
        self, run: CompressionRun, writer: Writer, summary: Summary | None, began: float
    ) -> CompressResult:
        """Stores the version and settles the last call, in one transaction."""
        thread = _thread(run.request)
        await self._record_health(run, writer, summary)
        if summary is None:
            return CompressResult(version=0, reason="no_gain")

        async def store_and_settle() -> bool:
            async with connected(self._pool, None) as connection, connection.transaction():
                stored = await self._summaries.store(*thread, summary, connection)
                await writer.settle(connection)
                return stored

        stored = await retrying(store_and_settle)
        writer.pending = None
        if stored:
            seconds = time.monotonic() - began
            self._metrics.compressed(
                run.request.trigger, summary.method, summary.tokens_before, summary.tokens_after, seconds
            )
            return _result(summary)
        # Another compression has stored this version, perhaps an earlier attempt of this one.
        other = await self._summaries.by_key(run.request.tenant, run.request.session_id, run.request.key)
        return _result(other) if other else CompressResult(version=0, reason="busy")

    async def _record_health(self, run: CompressionRun, writer: Writer, summary: Summary | None) -> None:
        """Records the result for the metrics, for the cooldown after failures, and to skip ranges without gain."""
        thread = _thread(run.request)
        if writer.fault:
            self._metrics.fell_back(writer.fault)
        if writer.failed and await self._summaries.failed(*thread, cooldown_s=self._cooldown_s):
            self._metrics.cooling_down()
        if writer.by_model:
            await self._summaries.succeeded(*thread)
        if summary is None:
            await self._summaries.gained_nothing(*thread, run.span.last_seq)


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
