"""Builds the next version of a summary: which layers to write, the room of each, and the text of them all."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from purser.activities.compression.writing import Writer
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
from purser.context.facts import MOST_TOKENS, Fact, extract_facts, omitted_facts, render_facts, sheet_tokens, supersede
from purser.context.redaction import Redactor
from purser.context.tokens import count_message, count_text
from purser.workflows.contract import CompressInput

LEAST_LEAF = 60
"""Least tokens for the newest layer; with less room, older layers are folded."""
_SEAM = 4
"""Most tokens that joining two texts adds."""


@dataclass(frozen=True, slots=True)
class CompressionInput:
    """The redacted messages that a version newly covers, with their facts."""

    passages: tuple[Passage, ...]
    facts: tuple[Fact, ...]
    language: str | None
    """Language of the user and assistant messages; `None`: mixed or unknown."""
    redacted: Counter[str]
    """Number of replaced values by label."""

    @classmethod
    def of(cls, stored: Sequence[StoredMessage], redactor: Redactor) -> "CompressionInput":
        """Redacts messages and extracts their facts; takes up to a second, so run it off the event loop."""
        passages = SummarySource.of("", (one.message for one in stored), redactor.redact).passages
        counts = Counter(redactor.counts)
        said = [
            text for one, (_, text) in zip(stored, passages, strict=True) if one.message.role in ("user", "assistant")
        ]
        facts = extract_facts(stored, redactor.redact)
        return cls(passages, tuple(facts), conversation_language(said), counts)


@dataclass(frozen=True)
class CompressionRun:
    """One running compression."""

    request: CompressInput
    model: str
    """Model whose tokenizer counts."""
    span: Range
    last: Summary | None
    input: CompressionInput
    known: Sequence[Fact]
    """Facts of earlier versions."""

    @property
    def language(self) -> str | None:
        """Language of the conversation; `None`: mixed or unknown."""
        return self.input.language or (self.last.language if self.last else None)

    @property
    def source_characters(self) -> int:
        """Characters of everything that the version covers."""
        new = sum(len(text) for _, text in self.input.passages)
        return new + (self.last.source_characters if self.last else 0)

    @cached_property
    def room(self) -> int:
        """Tokens for layers and facts, without the headers."""
        return self.span.most_tokens - self.tokens(self.shown([], "")) - _SEAM

    @property
    def facts_room(self) -> int:
        """Tokens reserved for facts."""
        return sheet_tokens(self.room)

    @cached_property
    def plan(self) -> LayerPlan:
        """Which layers of the last version are retained, folded or extended."""
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
        return summary_text(layers, facts, self.source_characters, self.language)

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
        facts = omitted_facts(supersede([*self.known, *self.input.facts]), body)
        left = self.room - self.count(body) - _SEAM
        return self.shown(layers, render_facts(facts, max(0, min(MOST_TOKENS, left)), self.count).text)


async def version_of(run: CompressionRun, writer: Writer, keep_rules: KeepRules) -> Summary | None:
    """Writes the next version; returns `None` if it would not save tokens."""
    plan = await asyncio.to_thread(lambda: run.plan)
    layers = list(plan.unchanged)
    if plan.folded:
        older = await writer.write(
            SummarySource("\n".join(layer.text for layer in plan.folded), ()), run.fold_room(plan)
        )
        layers.append(covering(folded_level(plan.folded), plan.folded, older.text))
    source = SummarySource(plan.leaf.text if plan.leaf else "", run.input.passages)
    newest = await writer.write(source, run.leaf_room(plan))
    layers = sorted([*layers, run.leaf(plan, newest.text)], key=lambda layer: layer.first_seq)
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
