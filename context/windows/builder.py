"""A window with texts while it is built: its summary, and what cannot fit."""

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
"""Writes a summary of a source in at most so many tokens, by the counter given; `extract` is one. Empty: there is none.
Where it raises or writes too much, an extract stands in."""


@dataclass(frozen=True, slots=True)
class Clipped:
    """A message that a window shows only in part, because it is larger than the whole budget."""

    index: int
    tokens_left_out: int


@dataclass(frozen=True)
class WindowBuilder:
    """A window under way."""

    conversation: Conversation
    """Sequence numbers are places in the conversation, from 0."""
    texts: Mapping[int, Message]
    """By place, of all that no stored summary covers."""
    model: str
    strategy: StrategyName
    reason: str
    """Why this one."""
    figures: StrategySettings
    preference: Preference
    summaries: int = 0
    """How often the conversation was summarised before."""
    characters: int | None = None
    """Of its texts, where they are known."""
    personal: Message | None = None
    memory: Message | None = None
    summarize: Summarize | None = None
    stored: Message | None = None
    """Shows the stored summary of the conversation."""

    @cached_property
    def around(self) -> int:
        """Tokens of everything but the conversation and its summary."""
        return PER_CONVERSATION + sum(map(self.tokens, filter(None, (self.personal, self.memory))))

    @property
    def stored_tokens(self) -> int:
        """Of the stored summary."""
        return self.conversation.summary.tokens if self.conversation.summary else 0

    @property
    def whole_tokens(self) -> int:
        """Of a window that leaves nothing out."""
        return self.around + sum(ref.tokens for ref in self.conversation.messages)

    def tokens(self, message: Message) -> int:
        """What it adds to a window."""
        return count_message(message.to_openai(), self.model).tokens

    def text_tokens(self, text: str) -> int:
        """Of a text alone."""
        return count_text(text, self.model).tokens

    def write(self, groups: Sequence[int], most_tokens: int) -> Shown | None:
        """The summary of some groups; `None` if it says nothing in so little room."""
        refs = [ref for index in groups for ref in self.conversation.groups[index].refs]
        first, last, most = refs[0].seq + 1, refs[-1].seq + 1, self.figures.summary_most_tokens
        room = most_tokens if most is None else min(most, most_tokens)
        source = SummarySource.of("", [self.texts[ref.seq] for ref in refs])
        header, role = self.figures.summary_header, self.figures.summary_role
        left, summarize = room - self.tokens(summary_message(first, last, "", header)), self.summarize or extract
        count = self._measure(source, left)
        while left > 0 and (text := _summary(summarize, source, left, count)):
            shown = summary_message(first, last, text, header, role)
            if (tokens := self.tokens(shown)) <= room:
                return Shown(text, shown, tokens)
            # Too long, or its first word joins the header in other tokens.
            left, summarize = left - max(1, min(left, tokens - room)) if summarize is extract else left, extract
        return None

    def _measure(self, source: SummarySource, most_tokens: int) -> CountText:
        """Counts tokens; where the length goes by the source, counts a text as at least its share of that length."""
        if not self.figures.summary_dynamic:
            return self.text_tokens
        most = summary_length(sum(len(text) for _, text in source.passages)).characters
        return lambda text: max(self.text_tokens(text), -(-len(text) * most_tokens // most))


def _summary(summarize: Summarize, source: SummarySource, most_tokens: int, count: CountText) -> str:
    if summarize is not extract:
        # A window never fails for want of a model.
        with suppress(Exception):
            return summarize(source, most_tokens, count).strip()
    return extract(source, most_tokens, count) or _opening(source, most_tokens, count)


def _opening(source: SummarySource, most_tokens: int, count: CountText) -> str:
    """How the source begins, where no sentence of it fits: a summary in little room says little, but covers."""
    said = [(speaker, text) for speaker, text in source.passages if text.strip()] or source.passages
    return beginning("\n".join(f"{speaker}: {text}" for speaker, text in said), most_tokens, count)


# --- what must be in a window and does not fit -----------------------------------------------------------------------


def clip_to_fit(
    builder: WindowBuilder, always: Iterable[int], budget: int
) -> tuple[WindowBuilder, tuple[Clipped, ...]]:
    """The draft, clipped where single messages of the groups that always stay exceed the whole budget.

    Raises:
        WindowTooSmall: that is not enough.
    """
    conversation = builder.conversation
    required = [conversation.groups[index] for index in sorted(always)]
    least = builder.around + total(required)
    if least <= budget:
        return builder, ()
    large = [ref for group in required for ref in group.refs if ref.tokens > budget and not ref.fixed]
    rest = least - sum(ref.tokens for ref in large)
    reserve = int(budget * builder.figures.summary_share) if len(required) < len(conversation.groups) else 0
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
    """Tokens of what must be in a window, by name."""
    parts = {"personal settings, memory, documents and the opening of the reply": builder.around}
    newest = [group for group in required if group.is_request][-1:]
    for group in required:
        name = f"last step or open calls, index {group.first_seq} to {group.last_seq}"
        if group in newest or group.opens:
            name = f"{'newest' if group in newest else 'first'} user message, index {group.first_seq}"
        elif group.fixed:
            name = "pins" if any(ref.pinned for ref in group.refs) else "system messages"
        parts[name] = parts.get(name, 0) + group.tokens
    return parts
