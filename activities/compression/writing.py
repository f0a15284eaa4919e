"""Writes the texts of a summary with a model, or extracts sentences if no model may be asked or its text is unfit.

A model is asked once for each chunk of the source, and once more if the result retains too little. If it fails,
sentences extracted from the conversation take the place of its text.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from temporalio import activity

from purser.activities.compression.summarizer import NotWritten, Summarizer, WrittenSummary
from purser.budget.postgres.connections.pools import Connection
from purser.budget.scopes import Path
from purser.context.compression.acceptance import fault
from purser.context.compression.extracts.extraction import extract, extract_layers
from purser.context.compression.fidelity import fidelity
from purser.context.compression.requests import KeepRules, SummarySource, chunks, summary_request
from purser.context.conversation.quoting import quoted
from purser.context.tokens import count_request, count_text

MOST_OUTPUT = 4_096
"""Most output tokens of a request."""
WINDOW_SHARE = 4
"""A reply takes at most a quarter of the window; the record that it continues takes as much."""
LEAST_CHUNK = 256
"""Least tokens of new messages in one request."""
LOW_FIDELITY, COOLING_DOWN = "low_fidelity", "cooling_down"
_ESCAPED = 1.2
"""Factor by which JSON escapes lengthen a record, as a rule at most."""


@dataclass(frozen=True, slots=True)
class WriteRequest:
    """Who pays for the texts of one compression, and how they are written."""

    tenant: str
    key: str
    """Key of the hold of the first call; the keys of further holds are derived from it."""
    path: Path
    """Scopes that pay."""
    model: str
    """Model that will read the summary; its tokenizer counts."""
    keep_rules: KeepRules
    language: str | None
    """Language of the conversation; `None`: mixed or unknown."""


@dataclass(frozen=True, slots=True)
class SummaryText:
    """A text that summarizes its source."""

    text: str
    """Empty if not even one sentence fits."""
    fidelity: float
    """Share of the source's content that it retains, 0 to 1."""


class Writer:
    """Writes the texts of one compression, one after the other."""

    def __init__(
        self,
        request: WriteRequest,
        summarizer: Summarizer | None,
        redact: Callable[[str], Awaitable[str]],
        *,
        fault: str = "",
    ) -> None:
        """Args:
        request: who pays, and how to write.
        summarizer: asks the model; `None`: no model is asked.
        redact: applied to the model's text.
        fault: code of why an available model is not asked; empty: it is.
        """
        self._request = request
        self._summarizer = summarizer
        self._redact = redact
        self._calls = 0
        self.fault = fault
        """Code of why texts are extracted instead of written by the model; empty: they are not."""
        self.failed = False
        """Whether the model itself is at fault."""
        self.pending: WrittenSummary | None = None
        """The last reply, to be settled in the transaction that stores the summary."""

    @property
    def model(self) -> str | None:
        """The model that may be asked."""
        return self._summarizer.model if self._summarizer else None

    @property
    def by_model(self) -> bool:
        """Whether a model has written everything so far."""
        return self._summarizer is not None and not self.fault

    async def write(self, source: SummarySource, most_tokens: int) -> SummaryText:
        """Summarizes a source in at most `most_tokens` tokens."""
        summarizer = self._summarizer
        if summarizer is not None and not self.fault:
            most = min(most_tokens, MOST_OUTPUT, summarizer.window // WINDOW_SHARE)
            if (text := await self._by_model(summarizer, source, most)) is not None:
                return text
            activity.logger.warning("the model's text is not usable as a summary: %s", self.fault)
        return await asyncio.to_thread(self._extracted, source, most_tokens)

    async def extract_layers(
        self, source: SummarySource, older: int, most_tokens: int, least: tuple[int, int]
    ) -> tuple[str, SummaryText]:
        """Extracts two layers at once, as `purser.context.compression.extracts.extraction.extract_layers`."""
        old, new = await asyncio.to_thread(extract_layers, source, older, most_tokens, least, self._count)
        score = await asyncio.to_thread(_score, SummarySource("", source.passages[older:]), new)
        return old, SummaryText(new, score)

    async def settle(self, connection: Connection | None = None) -> None:
        """Settles the last reply if it is still pending; joins the transaction of `connection`."""
        if self._summarizer is not None and self.pending is not None:
            await self._summarizer.settle(self.pending, connection)

    async def _by_model(self, summarizer: Summarizer, source: SummarySource, most_tokens: int) -> SummaryText | None:
        parts = await asyncio.to_thread(self._chunks, summarizer, source, most_tokens)
        before = await asyncio.to_thread(self._tokens, source)
        record, merged = "", source
        for part in parts:
            merged = SummarySource(part.summary or record, part.passages)
            if (answer := await self._asked(summarizer, merged, most_tokens, before)) is None:
                return None
            record = answer
        retained = await asyncio.to_thread(fidelity, source, record)
        if not retained.enough:
            record = await self._asked(summarizer, merged, most_tokens, before, insist=True) or ""
            retained = await asyncio.to_thread(fidelity, source, record)
            if not retained.enough:
                self.fault, self.failed = self.fault or LOW_FIDELITY, True
                return None
        return SummaryText(record, retained.score)

    async def _asked(
        self, summarizer: Summarizer, source: SummarySource, most_tokens: int, before: int, *, insist: bool = False
    ) -> str | None:
        """Asks the model to summarize a part of a source of `before` tokens; `None` if its text is unfit."""
        request = self._request
        await self.settle()
        self.pending = None
        self._calls += 1
        key = request.key if self._calls == 1 else f"{request.key}.{self._calls}"
        messages = summary_request(
            source, most_tokens, keep_rules=request.keep_rules, language=request.language, insist=insist
        )
        answer = await summarizer.write(request.tenant, key, request.path, messages, most_tokens)
        if isinstance(answer, NotWritten):
            self.fault, self.failed = answer, answer.failed
            return None
        self.pending = answer
        text = quoted(await self._redact(answer.text)).strip()
        found = "over_target" if not answer.whole else await asyncio.to_thread(self._fault, text, most_tokens, before)
        if found is not None:
            self.fault, self.failed = found, True
        return text if found is None else None

    def _fault(self, text: str, most_tokens: int, before: int) -> str | None:
        tokens, language = self._count(text), self._request.language
        return fault(text, tokens, most_tokens=most_tokens, tokens_before=before, language=language)

    def _tokens(self, source: SummarySource) -> int:
        return self._count(source.summary) + sum(self._count(passage.text) for passage in source.passages)

    def _chunks(self, summarizer: Summarizer, source: SummarySource, most_tokens: int) -> list[SummarySource]:
        empty = summary_request(
            SummarySource(".", ()), most_tokens, keep_rules=self._request.keep_rules, language="..", insist=True
        )
        record = max(count_text(source.summary, summarizer.model).tokens, most_tokens)
        around = count_request(empty, (), summarizer.model).tokens + int(record * _ESCAPED) + most_tokens
        room = max(LEAST_CHUNK, summarizer.window - around)
        return chunks(source, room, lambda text: count_text(text, summarizer.model).tokens)

    def _extracted(self, source: SummarySource, most_tokens: int) -> SummaryText:
        """Extracts sentences of the source; takes up to a second, so run it off the event loop."""
        text = extract(source, most_tokens, self._count)
        return SummaryText(text, _score(source, text))

    def _count(self, text: str) -> int:
        return count_text(text, self._request.model).tokens


def _score(source: SummarySource, text: str) -> float:
    return fidelity(source, text).score
