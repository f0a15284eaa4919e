"""Builds the next version of a summary: which layers to write, the room of each, and the text of them all."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from purser.activities.compression.writing import SummaryText, Writer
from purser.context.compression.layers import (
    Layer,
    LayerPlan,
    Level,
    compose,
    covering,
    fold_all,
    folded_level,
    plan_layers,
)
from purser.context.compression.ranges import Range
from purser.context.compression.requests import KeepRules, Passage, SummarySource
from purser.context.compression.summaries import Method, Summary, summary_message, summary_text
from purser.context.conversation.languages import conversation_language
from purser.context.conversation.messages import StoredMessage
from purser.context.facts import MOST_TOKENS, Fact, omitted_facts, render_facts, sheet_tokens
from purser.context.redaction import Redactor
from purser.context.tokens import count_message, count_text
from purser.workflows.contract import CompressInput

LEAST_LEAF = 60
"""Least tokens for the newest layer; with less room, older layers are folded."""
MOST_ORIGINALS = 1_000
"""Messages from which an extract is selected anew with each version; of older ones, their last extract is shortened."""
_AT_ONCE = 4
"""Most messages that are appended at once as they are written."""
_SEAM = 4
"""Most tokens that joining two texts adds."""


@dataclass(frozen=True, slots=True)
class CompressionInput:
    """The redacted messages that a version newly covers, and those from which an extract is selected anew."""

    passages: tuple[Passage, ...]
    """The newly covered messages."""
    earlier: tuple[Passage, ...]
    """The messages that the newest layer of the last version covers, if it is an extract."""
    originals: tuple[Passage, ...]
    """Both, in sequence."""
    language: str | None
    """Language of the user and assistant messages; `None`: mixed or unknown."""
    redacted: Counter[str]
    """Number of replaced values by label."""

    @classmethod
    def of(
        cls, stored: Sequence[StoredMessage], redactor: Redactor, earlier: Sequence[StoredMessage] = ()
    ) -> "CompressionInput":
        """Redacts messages; takes up to a second, so run it off the event loop.

        Args:
            stored: messages that the version newly covers.
            redactor: counts what it replaces in these.
            earlier: messages that the newest layer of the last version covers.
        """
        passages = _passages(stored, redactor)
        counts = Counter(redactor.counts)
        before = _passages(earlier, redactor)
        both = sorted(zip([*stored, *earlier], [*passages, *before], strict=True), key=lambda one: one[0].seq)
        said = [passage.text for passage in passages if passage.role in ("user", "assistant")]
        originals = tuple(passage for _, passage in both)
        return cls(passages, before, originals, conversation_language(said), counts)


def _passages(stored: Sequence[StoredMessage], redactor: Redactor) -> tuple[Passage, ...]:
    """Redacted messages with their times; a time that many share is that of an import, not of the messages."""
    shared = Counter(one.created_at for one in stored)
    found = SummarySource.of("", (one.message for one in stored), redactor.redact).passages
    return tuple(
        replace(passage, at=passage.at or (one.created_at if shared[one.created_at] <= _AT_ONCE else None))
        for one, passage in zip(stored, found, strict=True)
    )


@dataclass(frozen=True)
class CompressionRun:
    """One running compression."""

    request: CompressInput
    model: str
    """Model whose tokenizer counts."""
    span: Range
    last: Summary | None
    input: CompressionInput
    facts: Sequence[Fact]
    """Facts of everything that the version covers."""
    lengths: bool = True
    """Whether the text begins with the lengths of source and summary."""

    @property
    def language(self) -> str | None:
        """Language of the conversation; `None`: mixed or unknown."""
        return self.input.language or (self.last.language if self.last else None)

    @property
    def by_model(self) -> bool:
        """Whether a model has written what this version continues."""
        return self.last is not None and self.last.method is Method.MODEL

    @property
    def source_characters(self) -> int:
        """Characters of everything that the version covers."""
        new = sum(len(passage.text) for passage in self.input.passages)
        return new + (self.last.source_characters if self.last else 0)

    @cached_property
    def room(self) -> int:
        """Tokens for layers and facts, without the headers."""
        return self.span.most_tokens - self.tokens(self.shown([], "")) - _SEAM

    @property
    def facts_room(self) -> int:
        """Tokens reserved for facts."""
        return sheet_tokens(self.room)

    @property
    def extract_facts_room(self) -> int:
        """Tokens reserved for facts beside an extract."""
        return sheet_tokens(self.room, with_extract=True)

    @cached_property
    def plan(self) -> LayerPlan:
        """Which layers of the last version are retained, folded or extended; an extract is rewritten as a whole."""
        if self.last is not None and not self.by_model:
            return LayerPlan(leaf=covering(Level.LEAF, self.last.parts, compose(self.last.parts)))
        plan = plan_layers(self.last.parts if self.last else ())
        return fold_all(plan) if plan.unchanged and self.leaf_room(plan) < LEAST_LEAF else plan

    def fold_room(self, plan: LayerPlan) -> int:
        """Tokens for the layer into which older ones are folded."""
        return min(self.count(compose(plan.folded)), self.room - self.facts_room) // 2

    def leaf_room(self, plan: LayerPlan) -> int:
        """Tokens for the newest layer."""
        others = [
            *plan.unchanged,
            *([covering(Level.LEAF, plan.folded, "")] if plan.folded else []),
            self.leaf(plan, ""),
        ]
        fold = self.fold_room(plan) if plan.folded else 0
        return self.room - self.facts_room - fold - self.count(compose(others)) - _SEAM * len(others)

    def leaf(self, plan: LayerPlan, text: str) -> Layer:
        """The newest layer."""
        first_seq = self.last.last_seq + 1 if self.last else self.span.first_seq
        new = Layer(Level.LEAF, first_seq, self.span.last_seq, len(self.span.seqs), text)
        return covering(Level.LEAF, (plan.leaf, new), text) if plan.leaf else new

    def shown(self, layers: Sequence[Layer], facts: str) -> str:
        """The text of the version."""
        return summary_text(layers, facts, self.source_characters, self.language, lengths=self.lengths)

    def tokens(self, text: str) -> int:
        """Tokens of the message that would contain this text."""
        message = summary_message(self.span.first_seq, self.span.last_seq, text)
        return count_message(message.to_openai(), self.model).tokens

    def count(self, text: str) -> int:
        """Tokens of a text alone."""
        return count_text(text, self.model).tokens

    def with_facts(self, layers: Sequence[Layer]) -> str:
        """The text of the version, with the facts that its layers omit."""
        body = compose(layers)
        facts = omitted_facts(self.facts, body)
        left = self.room - self.count(body) - _SEAM
        return self.shown(layers, render_facts(facts, max(0, min(MOST_TOKENS, left)), self.count).text)


async def version_of(run: CompressionRun, writer: Writer, keep_rules: KeepRules) -> Summary | None:
    """Writes the next version; returns `None` if it would not save tokens."""
    layers, source, newest = await _written(run, writer)
    text = await asyncio.to_thread(run.with_facts, layers)
    tokens = await asyncio.to_thread(run.tokens, text)
    # Facts alone may replace messages, but a layer of an earlier version must not become empty.
    complete = all(layer.text for layer in layers) or (run.last is None and text != run.shown(layers, ""))
    if not complete or tokens > run.span.most_tokens:
        return None
    request, last = run.request, run.last
    return Summary(
        version=last.version + 1 if last else 1,
        first_seq=run.span.first_seq,
        last_seq=run.span.last_seq,
        text=text,
        method=Method.MODEL if writer.by_model else Method.EXTRACTIVE,
        key=request.key,
        tokens_before=run.span.tokens_before,
        tokens_after=tokens,
        source_digest=source.digest,
        model=writer.model if writer.by_model else None,
        hold_id=writer.pending.hold_id if writer.by_model and writer.pending else None,
        layers=tuple(layers),
        source_characters=run.source_characters,
        prompt_version=keep_rules.version if writer.by_model else None,
        language=run.language,
        fidelity=newest.fidelity,
        trigger=request.trigger,
        passed=run.span.passed,
    )


async def _written(run: CompressionRun, writer: Writer) -> "_Written":
    if writer.by_model or run.by_model:
        merged = await _merged(run, writer)
        if writer.by_model or run.by_model:
            return merged
    return await _selected(run, writer)


_Written = tuple[list[Layer], SummarySource, SummaryText]
"""Layers, oldest first; the source of the newest one, and its text."""


async def _merged(run: CompressionRun, writer: Writer) -> _Written:
    """Merges the new messages into the newest layer, and folds older layers, by what they say."""
    plan = await asyncio.to_thread(lambda: run.plan)
    layers = list(plan.unchanged)
    if plan.folded:
        older = await writer.write(
            SummarySource("\n".join(layer.text for layer in plan.folded), ()), run.fold_room(plan)
        )
        layers.append(covering(folded_level(plan.folded), plan.folded, older.text))
    source = SummarySource(plan.leaf.text if plan.leaf else "", run.input.passages)
    newest = await writer.write(source, run.leaf_room(plan))
    layers.append(run.leaf(plan, newest.text))
    return sorted(layers, key=lambda layer: layer.first_seq), source, newest


async def _selected(run: CompressionRun, writer: Writer) -> _Written:
    """Selects the newest layer anew from all its messages, together with what is left of the older layer.

    Once the newest layer covers `MOST_ORIGINALS` messages, it joins the older one, and the next begins. Each layer gets
    what its units win, and at least half its share by number of messages.
    """
    parts = run.last.parts if run.last else ()
    closes = bool(parts) and len(run.input.originals) > MOST_ORIGINALS
    new = run.leaf(LayerPlan(), "")
    older = parts if closes else parts[:-1]
    leaf = covering(Level.LEAF, (*parts[-1:], new), "") if parts and not closes else new
    if not older:
        source = SummarySource("", run.input.originals)
        newest = await writer.write(source, run.room - run.extract_facts_room - _SEAM)
        return [replace(leaf, text=newest.text)], source, newest
    before = covering(Level.SESSION, older, "")
    room = run.room - run.extract_facts_room - run.count(compose([before, leaf])) - 2 * _SEAM
    share = room * before.messages // (before.messages + leaf.messages)
    earlier = run.input.earlier if closes else ()
    lines = "\n".join(filter(None, (layer.text for layer in parts[:-1])))
    source = SummarySource(lines, (*earlier, *run.input.passages) if closes else run.input.originals)
    old, newest = await writer.extract_layers(source, len(earlier), room, (share // 2, (room - share) // 2))
    return [replace(before, text=old), replace(leaf, text=newest.text)], source, newest
