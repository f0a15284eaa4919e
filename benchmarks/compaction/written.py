"""Summaries at equal size: what an extract, an extract with recall, and a model keep of what questions ask for.

A model writes one summary for each session of a conversation, through the product's `Writer`: under a hold, checked,
and replaced by an extract where it is unfit. Without a model, the provider that Purser ships replays recorded summaries
over HTTP. The others get the tokens that the recorded summaries take, or else a quarter of the conversation.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from statistics import mean
from time import perf_counter
from typing import Any

from purser.activities.compression.summarizer import Summarizer
from purser.activities.compression.writing import Writer, WriteRequest
from purser.benchmarks.compaction.conversations import MODEL, Question, asked, count
from purser.benchmarks.compaction.product import MEMORY_TOKENS, TENANT
from purser.benchmarks.data import Row
from purser.benchmarks.outcome import percentile_ms
from purser.benchmarks.progress import log_step
from purser.benchmarks.recall.questions import message
from purser.budget.postgres.connections.pools import Pool
from purser.budget.scopes import Path
from purser.compose.demo.provider import Match, Reply, Rule
from purser.context.compression.extracts.extraction import extract
from purser.context.compression.layers import Layer, Level, compose
from purser.context.compression.requests import KeepRules, SummarySource, summary_request
from purser.context.conversation.messages import Message, StoredMessage
from purser.context.facts import extract_facts
from purser.context.postgres.conversation.conversations import Conversations
from purser.context.postgres.memory.memory import Memory
from purser.context.retrieval import memory_message
from purser.context.retrieval.rendering import MOST_FOUND, most_memory

SHARE = 4
"""Without recorded summaries, each strategy gets one token in so many of the conversation."""
SLACK = 8
"""Tokens by which the tokenizers of a model and of its reader may differ on a summary."""
EXTRACTIVE, HYBRID, MODEL_WRITTEN = "extractive", "hybrid", "model"
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Transcript:
    """A conversation in sessions, and the questions about it."""

    name: str
    messages: Sequence[Message]
    sessions: Sequence[range]
    """Indexes of the messages of each session."""
    recorded: Sequence[str]
    """The recorded summary of each session; empty if there are none."""
    questions: Sequence[Question]

    @classmethod
    def of(cls, row: Row) -> "Transcript":
        """Reads a row; sessions are told apart if each has a recorded summary."""
        recorded: Mapping[str, str] = row.get("session_summaries") or {}
        numbers = [str(one.get("session")) if recorded else "" for one in row["messages"]]
        sessions = [
            (name, [place for place, _ in some]) for name, some in groupby(enumerate(numbers), lambda at: at[1])
        ]
        return cls(
            row["id"],
            [message(one) for one in row["messages"]],
            [range(places[0], places[-1] + 1) for _, places in sessions],
            [recorded[name] for name, _ in sessions] if recorded else (),
            asked(row),
        )

    def source(self, places: Iterable[int]) -> SummarySource:
        """These messages as the source of a summary."""
        return SummarySource.of("", [self.messages[place] for place in places])

    def layers(self, texts: Iterable[str]) -> str:
        """The summary that consists of a text for each session."""
        parts = zip(self.sessions, texts, strict=True)
        return compose([Layer(Level.LEAF, one[0] + 1, one[-1] + 1, len(one), text) for one, text in parts])

    def room_of(self, session: int) -> int:
        """Tokens for the summary of a session."""
        return count(self.recorded[session]) + SLACK if self.recorded else self.room

    @property
    def room(self) -> int:
        """Tokens that every strategy gets."""
        if not self.recorded:
            return sum(count(one.text) for one in self.messages) // SHARE
        return count(self.layers(self.recorded)) + SLACK * len(self.recorded)


@dataclass
class Figures:
    """What a strategy keeps, as shares by question."""

    facts: list[float] = field(default_factory=list)
    """Facts of the messages with the answer whose value is retained."""
    figures: list[float] = field(default_factory=list)
    """Numbers of the answer that are retained."""
    answers: list[float] = field(default_factory=list)
    """Words of the answer that are retained."""
    evidence: list[float] = field(default_factory=list)
    """Messages with the answer that are retained word for word."""
    tokens: list[int] = field(default_factory=list)
    """Tokens of each text."""
    room: list[int] = field(default_factory=list)
    """Tokens that it might take."""
    took: list[float] = field(default_factory=list)
    """Seconds of each text, or of each recall."""
    replaced: Counter[str] = field(default_factory=Counter)
    """Summaries of the model that an extract replaced, by reason."""

    def add(self, transcript: Transcript, question: Question, text: str) -> None:
        """Adds what a text keeps of what one question asks for."""
        plain, said = " ".join(text.split()), set(_words(text))
        places = [place for place in question.evidence if place >= 0]
        stored = [StoredMessage(place + 1, "", transcript.messages[place], {}) for place in places]
        if values := {fact.value for fact in extract_facts(stored)}:
            self.facts.append(mean(value in plain for value in values))
        accepted = [found for answer in question.answers if (found := list(_words(answer)))]
        if accepted:
            self.answers.append(max(mean(word in said for word in words) for words in accepted))
        numbers = [found for words in accepted if (found := [word for word in words if word.isdecimal()])]
        if numbers:
            self.figures.append(max(mean(one in said for one in some) for some in numbers))
        if places:
            self.evidence.append(mean(" ".join(transcript.messages[place].text.split()) in plain for place in places))

    def to_json(self) -> dict[str, Any]:
        """Shares in percent; the median and 95th percentile of the time in milliseconds."""
        return {
            **{name: round(100 * mean(getattr(self, name) or [0.0]), 1) for name in MEASURES},
            "tokens": round(mean(self.tokens)),
            "ms_p50": percentile_ms(self.took, 0.5),
            "ms_p95": percentile_ms(self.took, 0.95),
            "replaced": dict(self.replaced),
        }


MEASURES = ("facts", "figures", "answers", "evidence")


async def measured(pool: Pool, name: str, rows: Sequence[Row], summarizer: Summarizer | None) -> dict[str, Figures]:
    """What each strategy keeps of the conversations of a set.

    Args:
        pool: holds are taken and memory is searched there.
        name: of the set.
        rows: its conversations.
        summarizer: the model; `None`: there is no such strategy.
    """
    found = {one: Figures() for one in (EXTRACTIVE, HYBRID, *([MODEL_WRITTEN] if summarizer else []))}
    for transcript in map(Transcript.of, rows):
        log_step(f"{name}, conversation {transcript.name}")
        room, everything = transcript.room, transcript.source(range(len(transcript.messages)))
        began = perf_counter()
        text = extract(everything, room, count)
        _add(found[EXTRACTIVE], transcript, text, room, perf_counter() - began)
        await _recalled(pool, found[HYBRID], f"{name}-{transcript.name}", transcript, room)
        if summarizer:
            began = perf_counter()
            text = await _written(summarizer, found[MODEL_WRITTEN].replaced, f"{name}-{transcript.name}", transcript)
            _add(found[MODEL_WRITTEN], transcript, text, room, perf_counter() - began)
    return found


def replayed(transcripts: Iterable[Transcript]) -> Iterator[Rule]:
    """Rules by which the shipped provider answers each request for a summary with the recorded one."""
    for transcript in transcripts:
        # A conversation without recorded summaries is one session.
        for places, text in zip(transcript.sessions, transcript.recorded, strict=bool(transcript.recorded)):
            request = summary_request(transcript.source(places), 1)[-1]["content"]
            yield Rule(match=Match(text=request), reply=Reply(content=text))


def _add(figures: Figures, transcript: Transcript, text: str, room: int, took: float) -> None:
    for question in transcript.questions:
        figures.add(transcript, question, text)
    figures.tokens.append(count(text))
    figures.room.append(room)
    figures.took.append(took)


async def _recalled(pool: Pool, figures: Figures, session_id: str, transcript: Transcript, room: int) -> None:
    """An extract in the room that memory leaves, and what memory finds for each question."""
    conversations, memory = Conversations(pool), Memory(pool)
    seqs = await conversations.append(TENANT, session_id, transcript.messages, origin="bench")
    await memory.search(TENANT, session_id, "Everything is indexed before time is measured.", limit=1)
    most = most_memory(MEMORY_TOKENS, room)
    summary = extract(transcript.source(range(len(seqs))), room - most, count)
    for question in transcript.questions:
        began = perf_counter()
        results = await memory.search(TENANT, session_id, question.text, limit=MOST_FOUND)
        found = memory_message(results.found, (), most, count)
        figures.took.append(perf_counter() - began)
        text = "\n".join([summary, *([found.text] if found else [])])
        figures.add(transcript, question, text)
        figures.tokens.append(count(text))
        figures.room.append(room)


async def _written(summarizer: Summarizer, replaced: Counter[str], key: str, transcript: Transcript) -> str:
    """A summary of each session by the model, of the size of the recorded one."""
    texts: list[str] = []
    for number, places in enumerate(transcript.sessions):
        request = WriteRequest(
            TENANT, f"{key}-{number}", Path.parse([f"session:{key}"]), MODEL, KeepRules(), language=None
        )
        writer = Writer(request, summarizer, _same)
        texts.append((await writer.write(transcript.source(places), transcript.room_of(number))).text)
        await writer.settle()
        replaced.update([writer.fault] if writer.fault else [])
    return transcript.layers(texts)


async def _same(text: str) -> str:
    """The text unredacted."""
    return text


def _words(text: str) -> Iterator[str]:
    """Words in small letters, numbers without leading zeros."""
    return (str(int(word)) if word.isdecimal() else word for word in _WORD.findall(text.lower()))
