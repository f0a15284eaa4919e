"""Compresses one conversation of a session into the next version of its summary.

Idempotent by key: a compression that was stored is answered from its row. One runs per conversation at a time, and no
transaction is open while a model writes. Messages that arrive meanwhile stay verbatim, because a version covers the
range that was read and nothing else. Where no model is configured, allowed or able, sentences of the conversation stand
in for its summary.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from temporalio import activity

from activities.shielding import finished
from activities.summariser import Summariser, Written
from budget.postgres.connection import Pool, connected, retrying
from budget.postgres.ledger import Ledger
from budget.scopes import Path
from context.compression import Redact, Source, fault, summary_request, unchanged
from context.extraction import extract
from context.postgres.conversations import Conversations
from context.postgres.summaries import Summaries
from context.ranges import Range, choose_range
from context.settings import ContextSettings
from context.summaries import Method, Summary, summary_message
from context.tokens import count_message, count_text
from workflows.contract import ActivityName, CompressInput, CompressResult

LEASE_S = 120
"""How long a compression whose worker died keeps others away."""
MOST_OUTPUT = 4_096
"""Tokens that a model is asked for at most."""
_BEAT_S = 1.0
"""Between two heartbeats: a cancel comes with their answers."""


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


@dataclass(frozen=True, slots=True)
class _Job:
    """One compression under way."""

    request: CompressInput
    whom: Compressing
    version: int
    span: Range
    source: Source

    @property
    def room(self) -> int:
        """Tokens that the text may take beside its header."""
        return self.span.most_tokens - self.tokens("")

    def tokens(self, text: str) -> int:
        """Of the message that would show this text."""
        message = summary_message(self.span.first_seq, self.span.last_seq, text)
        return count_message(message.to_openai(), self.whom.model).tokens

    def extracted(self) -> str:
        """Sentences of the conversation; takes a second for the longest."""
        return extract(self.source, self.room, lambda text: count_text(text, self.whom.model).tokens)

    def fault(self, text: str) -> str | None:
        """Why this text is no summary."""
        span = self.span
        return fault(text, self.tokens(text), most_tokens=span.most_tokens, tokens_before=span.tokens_before)


ForWhom = Callable[[CompressInput], Awaitable[Compressing]]


class CompressContext:
    """The activity `compress_context`."""

    def __init__(
        self,
        pool: Pool,
        ledger: Ledger,
        for_whom: ForWhom,
        summariser: Summariser | None = None,
        redact: Redact = unchanged,
    ) -> None:
        """Args:
        pool: of the database that holds conversations and ledger.
        ledger: settles what a model cost.
        for_whom: path, model, settings and budget of a request.
        summariser: writes summaries; `None`: no model does.
        redact: applied to text before it is sent, picked from or stored.
        """
        self._pool = pool
        self._ledger = ledger
        self._for_whom = for_whom
        self._summariser = summariser
        self._redact = redact
        self._conversations = Conversations(pool)
        self._summaries = Summaries(pool)

    @activity.defn(name=ActivityName.COMPRESS_CONTEXT)
    async def compress_context(self, request: CompressInput) -> CompressResult:
        """Stores the next version of a summary, or says why there is none."""
        whose = (request.tenant, request.session_id, request.thread, request.key)
        if stored := await self._summaries.by_key(request.tenant, request.session_id, request.key):
            return _result(stored)
        if not await self._summaries.claim(*whose, LEASE_S):
            return CompressResult(version=0, reason="busy")
        try:
            async with _heartbeats():
                return await self._compress(request)
        finally:
            await finished(self._summaries.unclaim(*whose))

    async def _compress(self, request: CompressInput) -> CompressResult:
        whom = await self._for_whom(request)
        thread = (request.tenant, request.session_id, request.thread)
        conversation = await self._conversations.conversation(*thread, model=whom.model)
        span = choose_range(conversation, whom.settings, request.budget_tokens or whom.budget)
        if span is None:
            return CompressResult(version=0, reason="nothing_to_cover")
        last = conversation.summary.version if conversation.summary else 0
        job = _Job(request, whom, last + 1, span, await self._source(request, span, last))
        written = await self._written(job)
        return await finished(self._finish(job, written))

    async def _source(self, request: CompressInput, span: Range, last: int) -> Source:
        texts = await self._summaries.texts(request.tenant, request.session_id, {request.thread: last})
        stored = await self._conversations.read(request.tenant, request.session_id, span.seqs)
        messages = [one.message for one in stored.values()]
        return await asyncio.to_thread(Source.of, texts.get(request.thread, ""), messages, self._redact)

    async def _written(self, job: _Job) -> Written | None:
        if self._summariser is None:
            return None
        most = min(job.room, MOST_OUTPUT)
        messages = summary_request(job.source, most)
        return await self._summariser.write(job.request.tenant, job.request.key, job.whom.path, messages, most)

    async def _finish(self, job: _Job, written: Written | None) -> CompressResult:
        """Stores a version and settles its call, in one transaction."""
        request, summary = job.request, await self._summary(job, written)

        async def store_and_settle() -> bool:
            async with connected(self._pool, None) as connection, connection.transaction():
                stored = summary is not None and await self._summaries.store(
                    request.tenant, request.session_id, request.thread, summary, connection
                )
                if written is not None:
                    await self._ledger.settle(
                        request.tenant, written.hold_id, written.attempt, written.report, connection=connection
                    )
                return stored

        if await retrying(store_and_settle):
            assert summary is not None
            return _result(summary)
        if summary is None:
            return CompressResult(version=0, reason="no_gain")
        # Another one stored this version meanwhile; perhaps an earlier try of this very compression.
        stored = await self._summaries.by_key(request.tenant, request.session_id, request.key)
        return _result(stored) if stored else CompressResult(version=0, reason="busy")

    async def _summary(self, job: _Job, written: Written | None) -> Summary | None:
        """The model's text if it is a summary, else sentences of the conversation; `None` if nothing gains."""
        if written is not None:
            text = self._redact(written.text).replace("\0", "").strip()
            found = job.fault(text) if written.whole else "over_target"
            if found is None:
                return self._version(job, text, written)
            activity.logger.warning("the model's text is no summary: %s", found)
        text = await asyncio.to_thread(job.extracted)
        return self._version(job, text, None) if job.fault(text) is None else None

    def _version(self, job: _Job, text: str, written: Written | None) -> Summary:
        return Summary(
            version=job.version,
            first_seq=job.span.first_seq,
            last_seq=job.span.last_seq,
            text=text,
            method=Method.MODEL if written else Method.EXTRACTIVE,
            key=job.request.key,
            tokens_before=job.span.tokens_before,
            tokens_after=job.tokens(text),
            source_digest=job.source.digest,
            model=self._summariser.model if self._summariser and written else None,
            hold_id=written.hold_id if written else None,
        )


@asynccontextmanager
async def _heartbeats() -> AsyncIterator[None]:
    """Tells Temporal that the activity is alive, so that a cancel can reach it."""

    async def beat() -> None:
        while True:
            activity.heartbeat()
            await asyncio.sleep(_BEAT_S)

    task = asyncio.create_task(beat()) if activity.in_activity() else None
    try:
        yield
    finally:
        if task is not None:
            task.cancel()


def _result(summary: Summary) -> CompressResult:
    return CompressResult(
        version=summary.version,
        first_seq=summary.first_seq,
        last_seq=summary.last_seq,
        tokens_before=summary.tokens_before,
        tokens_after=summary.tokens_after,
        method=summary.method,
    )
