"""Window builder: the inputs of a window with texts, its summary, and remedies for messages that are too large."""

from collections.abc import Callable, Hashable, Mapping, MutableMapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import takewhile

from purser.context.compression.extracts.extraction import extract
from purser.context.compression.headings import language_of_words, length_header, range_header
from purser.context.compression.lengths import summary_length
from purser.context.compression.requests import CountText, Redact, SummarySource, unchanged
from purser.context.compression.summaries import summary_message
from purser.context.conversation.conversations import Conversation, Figures, Group, MessageRef
from purser.context.conversation.messages import Message
from purser.context.errors import WindowTooSmall
from purser.context.strategies import StrategyName, StrategySettings
from purser.context.strategies.choice import Preference
from purser.context.tokens import PER_CONVERSATION, count_message, count_text
from purser.context.windows.clipping import beginning
from purser.context.windows.engine import Cutter, Room, Shown
from purser.context.windows.trimming import Trim, clear_old_results, fit_required, show_all, trimmed

Summarize = Callable[[SummarySource, int, CountText], str]
"""Writes a summary of a source within a number of tokens, counted by the given function; `extract` is one. An empty
result means no summary. If it raises or writes too much, an extract replaces its result."""


class TextsMissing(Exception):
    """The window needs texts that were not read, or a summary that no redactor was given for."""

    def __init__(self, places: Sequence[int]) -> None:
        super().__init__(f"{len(places)} messages were not read for a window")
        self.places = places
        """Positions of the messages."""


@dataclass(frozen=True)
class WindowBuilder:
    """The inputs of a window, and the functions that summarize and count for it."""

    conversation: Conversation
    """The conversation by reference; its sequence numbers are positions from 0."""
    texts: Mapping[int, Message]
    """Messages by position; those that a window needs are asked for by `TextsMissing`."""
    model: str
    strategy: StrategyName
    reason: str
    """Why this strategy was chosen."""
    parameters: StrategySettings
    preference: Preference
    summaries: int = 0
    """How often the conversation was already summarized."""
    characters: int | None = None
    """Length of its texts, if known."""
    personal: Message | None = None
    memory: Message | None = None
    summarize: Summarize | None = None
    stored: Message | None = None
    """Message that shows the stored summary of the conversation."""
    redact: Redact | None = unchanged
    """Applied to each text before it is summarized; `None` until it is asked for by `TextsMissing`."""
    seqs: Mapping[int, int] = field(default_factory=dict)
    """Sequence number by position if the conversation is stored, for the marks of trimmed messages."""
    unread: Figures = field(default_factory=Figures)
    """Sums over all messages that `conversation` does not include."""
    extract_tokens: int | None = None
    """Tokens of the newest messages from which a summary is made; `None` for all."""
    extracts: MutableMapping[Hashable, Shown | None] = field(default_factory=dict)
    """Summaries written before, by what they were made of."""
    place: tuple[str, ...] = ()
    """Distinguishes the conversation from others in `extracts`."""

    @cached_property
    def overhead(self) -> int:
        """Tokens of everything but the conversation and its summary."""
        return PER_CONVERSATION + sum(map(self.tokens, filter(None, (self.personal, self.memory))))

    @property
    def stored_tokens(self) -> int:
        """Tokens of the stored summary."""
        return self.conversation.summary.tokens if self.conversation.summary else 0

    @property
    def whole_tokens(self) -> int:
        """Tokens of a window that leaves nothing out and adds nothing."""
        return self.overhead + sum(ref.tokens for ref in self.conversation.messages) + self.unread.tokens

    def texts_of(self, refs: Sequence[MessageRef]) -> list[Message]:
        """The messages; raises `TextsMissing` if some were not read."""
        if missing := [ref.seq for ref in refs if ref.seq not in self.texts]:
            raise TextsMissing(missing)
        return [self.texts[ref.seq] for ref in refs]

    def tokens(self, message: Message) -> int:
        """Counts the tokens that a message adds to a window."""
        return count_message(message.to_openai(), self.model).tokens

    def text_tokens(self, text: str) -> int:
        """Counts the tokens of a text alone."""
        return count_text(text, self.model).tokens

    def write(self, groups: Sequence[int], most_tokens: int) -> Shown | None:
        """Writes the summary of some groups, given by index; `None` if there is no room for one."""
        groups = self._newest(groups)
        refs = [ref for index in groups for ref in self.conversation.groups[index].refs]
        room = self.parameters.summary_room(sum(ref.tokens for ref in refs), most_tokens)
        key = (self.place, self.model, self.parameters, room, tuple(ref.seq for ref in refs))
        if key not in self.extracts:
            self.extracts[key] = self._written(refs, room)
        written = self.extracts[key]
        return written and replace(written, oldest=groups[0])

    def _newest(self, groups: Sequence[int]) -> Sequence[int]:
        """The newest of the groups that take at most `extract_tokens`, and at least one."""
        if self.extract_tokens is None:
            return groups
        room, found = Room(self.extract_tokens), self.conversation.groups
        fit = sum(1 for _ in takewhile(lambda index: room.takes(found[index].tokens), reversed(groups)))
        return groups[-max(1, fit) :]

    def _written(self, refs: Sequence[MessageRef], room: int) -> Shown | None:
        first, last = refs[0].seq + 1, refs[-1].seq + 1
        if self.redact is None:
            raise TextsMissing([ref.seq for ref in refs])
        source = SummarySource.of("", self.texts_of(refs), self.redact)
        language, role = _language(source), self.parameters.summary_role
        header = self.parameters.summary_header
        if header is None:
            header = range_header(first, last, language)
        lengths = self._lengths(source, source.characters, language)
        left = room - self.tokens(summary_message(first, last, lengths, header))
        count, summarize = self._measure(source, left), self.summarize or extract
        while left > 0 and (text := _summary(summarize, source, left, count)):
            if summarize is extract:
                text = f"{self._lengths(source, len(text), language)}{text}"
            shown = summary_message(first, last, text, header, role)
            if (tokens := self.tokens(shown)) <= room:
                return Shown(text, shown, tokens)
            # Too long, or its first word merges with the header into different tokens.
            left, summarize = left - max(1, min(left, tokens - room)) if summarize is extract else left, extract
        return None

    def _lengths(self, source: SummarySource, characters: int, language: str | None) -> str:
        """With dynamic length, the header line with the lengths of a source and of its extract."""
        return f"{length_header(source.characters, characters, language)}\n" if self.parameters.summary_dynamic else ""

    def _measure(self, source: SummarySource, most_tokens: int) -> CountText:
        """Token counter; with dynamic length, a text counts at least its share of the requested length."""
        if not self.parameters.summary_dynamic:
            return self.text_tokens
        most = summary_length(source.characters).characters
        return lambda text: max(self.text_tokens(text), -(-len(text) * most_tokens // most))


def _language(source: SummarySource) -> str | None:
    """The language of the newest messages."""
    said = [passage.said[:200] for passage in source.passages if passage.role in ("user", "assistant")]
    return language_of_words("\n".join(said[-20:]))


def _summary(summarize: Summarize, source: SummarySource, most_tokens: int, count: CountText) -> str:
    if summarize is not extract:
        # A failing model must not fail the window.
        with suppress(Exception):
            return summarize(source, most_tokens, count).strip()
    return extract(source, most_tokens, count) or _opening(source, most_tokens, count)


def _opening(source: SummarySource, most_tokens: int, count: CountText) -> str:
    """The beginning of the source, used when no sentence fits: even a minimal summary covers the range."""
    said = [passage for passage in source.passages if passage.text.strip()] or source.passages
    return beginning("\n".join(f"{one.speaker}: {one.text}" for one in said), most_tokens, count)


# --- messages that are too large -------------------------------------------------------------------------------------


def trim_to_fit(builder: WindowBuilder, cutter: Cutter, budget: int) -> tuple[WindowBuilder, Cutter, tuple[Trim, ...]]:
    """Clears old tool results, then clips messages, until the required groups fit; the newest user message last.

    Where no summary covers old tool results, they are also cleared if otherwise more would be dropped.

    Raises:
        WindowTooSmall: pins, system messages and calls that cannot be shortened exceed the budget.
    """
    room = budget - builder.overhead
    newest = next((ref for ref in reversed(builder.conversation.messages) if ref.role == "user"), None)
    trims = fit_required([cutter], room, question=newest)
    if trims is None:
        trims = fit_required([cutter], room)
    if trims is None:
        raise _too_small(builder, cutter, budget)
    cutter = trimmed(cutter, trims)
    if not (cutter.rule.summarizes and builder.summarize):
        cleared = clear_old_results([cutter], room - builder.stored_tokens, newest)
        cutter, trims = trimmed(cutter, cleared), {**trims, **cleared}
    if not trims:
        return builder, cutter, ()
    builder.texts_of([ref for ref in builder.conversation.messages if ref.seq in trims])
    shown = show_all(trims.values(), builder.texts, builder.text_tokens, builder.seqs)
    counted = {seq: replace(trim, tokens=builder.tokens(shown[seq])) for seq, trim in sorted(trims.items())}
    cutter = trimmed(cutter, counted)
    if cutter.least > room:
        raise _too_small(builder, cutter, budget)
    builder = replace(builder, conversation=cutter.conversation, texts={**builder.texts, **shown})
    return builder, cutter, tuple(trim for trim in counted.values() if trim.tokens_left_out)


def _too_small(builder: WindowBuilder, cutter: Cutter, budget: int) -> WindowTooSmall:
    required = [builder.conversation.groups[index] for index in sorted(cutter.required)]
    return WindowTooSmall(_parts(builder, required), budget=budget)


def _parts(builder: WindowBuilder, required: Sequence[Group]) -> dict[str, int]:
    """Tokens of the required parts of a window, by name."""
    parts = {"personal settings, memory, documents and the opening of the reply": builder.overhead}
    newest = [group for group in required if group.is_request][-1:]
    for group in required:
        name = f"last step or open calls, index {group.first_seq} to {group.last_seq}"
        if group in newest or group.opens:
            name = f"{'newest' if group in newest else 'first'} user message, index {group.first_seq}"
        elif group.fixed:
            name = "pins" if any(ref.pinned for ref in group.refs) else "system messages"
        parts[name] = parts.get(name, 0) + group.tokens
    return parts
