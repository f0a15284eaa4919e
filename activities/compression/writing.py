"""Writes the texts of a summary: by a model where one may be asked and does well, else by picking sentences.

A model is asked once for each chunk of what is to be covered, and once more if the result keeps too little. Whatever
it fails in, sentences of the conversation stand in.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from temporalio import activity

from purser.activities.models.summarizer import Summarizer, Unwritten, Written
from purser.budget.postgres.connections.pools import Connection
from purser.budget.scopes import Path
from purser.context.compression.extraction import extract
from purser.context.compression.fidelity import BAR, fidelity
from purser.context.compression.requests import Source, Wishes, chunks, fault, summary_request
from purser.context.conversation.quoting import quoted
from purser.context.tokens import count_request, count_text

MOST_OUTPUT = 4_096
"""Tokens that a model is asked for at most."""
WINDOW_SHARE = 4
"""A reply takes at most a quarter of the window; the record that it goes on from takes as much."""
LEAST_CHUNK = 256
"""Tokens of new messages that a request has room for at least, or it is not made."""
LOW_FIDELITY, COOLING_DOWN = "low_fidelity", "cooling_down"
_ESCAPED = 1.2
"""What JSON adds to a record, at most as a rule."""


@dataclass(frozen=True, slots=True)
class Order:
    """For whom texts are written, and how."""

    tenant: str
    key: str
    """Names the hold of the first call; the holds of others are named after it."""
    path: Path
    """Whose budget pays."""
    model: str
    """Whose counter applies: the model that will read the summary."""
    wishes: Wishes
    language: str | None
    """Of the conversation; `None`: mixed or unknown."""


@dataclass(frozen=True, slots=True)
class Text:
    """A text that stands for its source."""

    text: str
    """Empty if not even one sentence fits."""
    fidelity: float
    """What it keeps of its source, 0 to 1."""


class Writer:
    """Writes the texts of one compression, in turn."""

    def __init__(
        self, order: Order, summarizer: Summarizer | None, redact: Callable[[str], Awaitable[str]], *, fault: str = ""
    ) -> None:
        """Args:
        order: for whom.
        summarizer: `None`: no model is asked.
        redact: applied to what a model says.
        fault: why a model that is there is not asked.
        """
        self._order = order
        self._summarizer = summarizer
        self._redact = redact
        self._calls = 0
        self.fault = fault
        """Why sentences stand in for what a model should have written, as a code; empty if they do not."""
        self.failed = False
        """Whether the model itself is at fault."""
        self.pending: Written | None = None
        """The last reply, to be settled in the transaction that stores what came of it."""

    @property
    def model(self) -> str | None:
        """The model that may be asked."""
        return self._summarizer.model if self._summarizer else None

    @property
    def by_model(self) -> bool:
        """Whether a model wrote everything so far."""
        return self._summarizer is not None and not self.fault

    async def write(self, source: Source, most_tokens: int) -> Text:
        """The text of at most so many tokens that stands for a source."""
        summarizer = self._summarizer
        if summarizer is not None and not self.fault:
            most = min(most_tokens, MOST_OUTPUT, summarizer.window // WINDOW_SHARE)
            if (text := await self._by_model(summarizer, source, most)) is not None:
                return text
            activity.logger.warning("the model's text is no summary: %s", self.fault)
        return await asyncio.to_thread(self._extracted, source, most_tokens)

    async def settle(self, connection: Connection | None = None) -> None:
        """Settles the last reply, if it is still open; joins the transaction of `connection`."""
        if self._summarizer is not None and self.pending is not None:
            await self._summarizer.settle(self._order.tenant, self.pending, connection)

    async def _by_model(self, summarizer: Summarizer, source: Source, most_tokens: int) -> Text | None:
        parts = await asyncio.to_thread(self._chunks, summarizer, source, most_tokens)
        before = await asyncio.to_thread(self._tokens, source)
        record, merged = "", source
        for part in parts:
            merged = Source(part.summary or record, part.passages)
            if (answer := await self._asked(summarizer, merged, most_tokens, before)) is None:
                return None
            record = answer
        score = await asyncio.to_thread(_score, source, record)
        if score < BAR:
            record = await self._asked(summarizer, merged, most_tokens, before, insist=True) or ""
            score = await asyncio.to_thread(_score, source, record)
            if score < BAR:
                self.fault, self.failed = self.fault or LOW_FIDELITY, True
                return None
        return Text(record, score)

    async def _asked(
        self, summarizer: Summarizer, source: Source, most_tokens: int, before: int, *, insist: bool = False
    ) -> str | None:
        """What a model makes of a part of what takes `before` tokens; `None` if that is no summary."""
        order = self._order
        await self.settle()
        self.pending = None
        self._calls += 1
        key = order.key if self._calls == 1 else f"{order.key}.{self._calls}"
        messages = summary_request(source, most_tokens, wishes=order.wishes, language=order.language, insist=insist)
        answer = await summarizer.write(order.tenant, key, order.path, messages, most_tokens)
        if isinstance(answer, Unwritten):
            self.fault, self.failed = answer, answer.failed
            return None
        self.pending = answer
        text = quoted(await self._redact(answer.text)).strip()
        found = "over_target" if not answer.whole else await asyncio.to_thread(self._fault, text, most_tokens, before)
        if found is not None:
            self.fault, self.failed = found, True
        return text if found is None else None

    def _fault(self, text: str, most_tokens: int, before: int) -> str | None:
        tokens, language = self._count(text), self._order.language
        return fault(text, tokens, most_tokens=most_tokens, tokens_before=before, language=language)

    def _tokens(self, source: Source) -> int:
        return self._count(source.summary) + sum(self._count(said) for _, said in source.passages)

    def _chunks(self, summarizer: Summarizer, source: Source, most_tokens: int) -> list[Source]:
        empty = summary_request(Source(".", ()), most_tokens, wishes=self._order.wishes, language="..", insist=True)
        record = max(count_text(source.summary, summarizer.model).tokens, most_tokens)
        around = count_request(empty, (), summarizer.model).tokens + int(record * _ESCAPED) + most_tokens
        room = max(LEAST_CHUNK, summarizer.window - around)
        return chunks(source, room, lambda text: count_text(text, summarizer.model).tokens)

    def _extracted(self, source: Source, most_tokens: int) -> Text:
        """Sentences of the source; takes a second for the longest."""
        text = extract(source, most_tokens, self._count)
        return Text(text, _score(source, text))

    def _count(self, text: str) -> int:
        return count_text(text, self._order.model).tokens


def _score(source: Source, text: str) -> float:
    return fidelity(source, text).score
