"""Window builder: the inputs of a window with texts, its summary, and clipping of messages that cannot fit."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

from purser.context.compression.extraction import extract
from purser.context.compression.lengths import summary_length
from purser.context.compression.requests import CountText, SummarySource
from purser.context.compression.summaries import summary_message
from purser.context.conversation.conversations import Conversation, Group, total
from purser.context.conversation.messages import Message
from purser.context.errors import WindowTooSmall
from purser.context.strategies import StrategyName, StrategySettings
from purser.context.strategies.choice import Preference
from purser.context.tokens import PER_CONVERSATION, count_message, count_text
from purser.context.windows.clipping import beginning, clip_message
from purser.context.windows.engine import Shown

Summarize = Callable[[SummarySource, int, CountText], str]
"""Writes a summary of a source within a number of tokens, counted by the given function; `extract` is one. An empty
result means no summary. If it raises or writes too much, an extract replaces its result."""


@dataclass(frozen=True, slots=True)
class Clipped:
    """A message that a window shows in part, because it alone exceeds the budget."""

    index: int
    tokens_left_out: int


@dataclass(frozen=True)
class WindowBuilder:
    """The inputs of a window, and the functions that summarize and count for it."""

    conversation: Conversation
    """The conversation by reference; its sequence numbers are positions from 0."""
    texts: Mapping[int, Message]
    """Messages by position; at least all that no stored summary covers."""
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
        """Tokens of a window that leaves nothing out."""
        return self.overhead + sum(ref.tokens for ref in self.conversation.messages)

    def tokens(self, message: Message) -> int:
        """Counts the tokens that a message adds to a window."""
        return count_message(message.to_openai(), self.model).tokens

    def text_tokens(self, text: str) -> int:
        """Counts the tokens of a text alone."""
        return count_text(text, self.model).tokens

    def write(self, groups: Sequence[int], most_tokens: int) -> Shown | None:
        """Writes the summary of some groups, given by index; `None` if there is no room for one."""
        refs = [ref for index in groups for ref in self.conversation.groups[index].refs]
        first, last, most = refs[0].seq + 1, refs[-1].seq + 1, self.parameters.summary_most_tokens
        room = most_tokens if most is None else min(most, most_tokens)
        source = SummarySource.of("", [self.texts[ref.seq] for ref in refs])
        header, role = self.parameters.summary_header, self.parameters.summary_role
        left, summarize = room - self.tokens(summary_message(first, last, "", header)), self.summarize or extract
        count = self._measure(source, left)
        while left > 0 and (text := _summary(summarize, source, left, count)):
            shown = summary_message(first, last, text, header, role)
            if (tokens := self.tokens(shown)) <= room:
                return Shown(text, shown, tokens)
            # Too long, or its first word merges with the header into different tokens.
            left, summarize = left - max(1, min(left, tokens - room)) if summarize is extract else left, extract
        return None

    def _measure(self, source: SummarySource, most_tokens: int) -> CountText:
        """Token counter; with dynamic length, a text counts at least its share of the requested length."""
        if not self.parameters.summary_dynamic:
            return self.text_tokens
        most = summary_length(sum(len(text) for _, text in source.passages)).characters
        return lambda text: max(self.text_tokens(text), -(-len(text) * most_tokens // most))


def _summary(summarize: Summarize, source: SummarySource, most_tokens: int, count: CountText) -> str:
    if summarize is not extract:
        # A failing model must not fail the window.
        with suppress(Exception):
            return summarize(source, most_tokens, count).strip()
    return extract(source, most_tokens, count) or _opening(source, most_tokens, count)


def _opening(source: SummarySource, most_tokens: int, count: CountText) -> str:
    """The beginning of the source, used when no sentence fits: even a minimal summary covers the range."""
    said = [(speaker, text) for speaker, text in source.passages if text.strip()] or source.passages
    return beginning("\n".join(f"{speaker}: {text}" for speaker, text in said), most_tokens, count)


# --- clipping of required messages -----------------------------------------------------------------------------------


def clip_to_fit(
    builder: WindowBuilder, always: Iterable[int], budget: int
) -> tuple[WindowBuilder, tuple[Clipped, ...]]:
    """Clips single messages of required groups that alone exceed the whole budget.

    Raises:
        WindowTooSmall: clipping is not enough.
    """
    conversation = builder.conversation
    required = [conversation.groups[index] for index in sorted(always)]
    least = builder.overhead + total(required)
    if least <= budget:
        return builder, ()
    large = [ref for group in required for ref in group.refs if ref.tokens > budget and not ref.fixed]
    rest = least - sum(ref.tokens for ref in large)
    reserve = int(budget * builder.parameters.summary_share) if len(required) < len(conversation.groups) else 0
    room = budget - rest - reserve
    texts, counts = dict(builder.texts), {ref.seq: ref.tokens for ref in large}
    for ref in large:
        message = clip_message(texts[ref.seq], ref.tokens, room // len(large), builder.text_tokens)
        if message is None:
            break
        texts[ref.seq], counts[ref.seq] = message, builder.tokens(message)
    clipped = tuple(Clipped(ref.seq, ref.tokens - counts[ref.seq]) for ref in large)
    if not large or any(one.tokens_left_out <= 0 for one in clipped):
        raise WindowTooSmall(_parts(builder, required), budget=budget)
    refs = tuple(replace(ref, tokens=counts.get(ref.seq, ref.tokens)) for ref in conversation.messages)
    return replace(builder, conversation=replace(conversation, messages=refs), texts=texts), clipped


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
