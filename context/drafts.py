"""A window of one list of messages while it is built: its counts, its summary, and what cannot fit."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

from context.clipping import beginning, clip_message
from context.compression import CountText, Source
from context.conversations import Conversation, Group, MessageRef
from context.errors import WindowTooSmall
from context.extraction import extract
from context.lengths import summary_length
from context.messages import Message
from context.strategies.selecting import Shown, always_kept
from context.strategies.settings import StrategySettings
from context.summaries import summary_message
from context.tokens import PER_CONVERSATION, count_message, count_text

Summarize = Callable[[Source, int, CountText], str]
"""Writes a summary of a source in at most so many tokens, by the counter given; `extract` is one. Empty: there is none.
Where it raises or writes too much, an extract stands in."""


@dataclass(frozen=True, slots=True)
class Clipped:
    """A message that a window shows only in part, because it is larger than the whole budget."""

    index: int
    tokens_left_out: int


@dataclass(frozen=True)
class Draft:
    """A window under way."""

    messages: tuple[Message, ...]
    model: str
    settings: StrategySettings
    personal: Message | None
    memory: Message | None
    summarize: Summarize | None
    counts: Sequence[int] | None

    @cached_property
    def conversation(self) -> Conversation:
        """The messages by reference; sequence numbers are indexes."""
        counts = self.counts if self.counts is not None else map(self.tokens, self.messages)
        refs = (
            MessageRef(index, message.role, tokens, message.call_ids, message.tool_call_id, message.pinned)
            for index, (message, tokens) in enumerate(zip(self.messages, counts, strict=True))
        )
        return Conversation("", tuple(refs), keeps_first_request=self.settings.keeps_first_request)

    @cached_property
    def must(self) -> set[int]:
        """Groups that always stay."""
        return always_kept(self.conversation)

    @cached_property
    def around(self) -> int:
        """Tokens of everything but the conversation and its summary."""
        return PER_CONVERSATION + sum(map(self.tokens, filter(None, (self.personal, self.memory))))

    def tokens(self, message: Message) -> int:
        """What it adds to a window."""
        return count_message(message.to_openai(), self.model).tokens

    def text_tokens(self, text: str) -> int:
        """Of a text alone."""
        return count_text(text, self.model).tokens

    def write(self, groups: Sequence[int], most_tokens: int) -> Shown | None:
        """The summary of some groups; `None` if it says nothing in so little room."""
        refs = [ref for index in groups for ref in self.conversation.groups[index].refs]
        first, last, most = refs[0].seq + 1, refs[-1].seq + 1, self.settings.summary_most_tokens
        room = most_tokens if most is None else min(most, most_tokens)
        source = Source.of("", [self.messages[ref.seq] for ref in refs])
        header, role = self.settings.summary_header, self.settings.summary_role
        left, summarize = room - self.tokens(summary_message(first, last, "", header)), self.summarize or extract
        count = self._measure(source, left)
        while left > 0 and (text := _summary(summarize, source, left, count)):
            shown = summary_message(first, last, text, header, role)
            if (tokens := self.tokens(shown)) <= room:
                return Shown(text, shown, tokens)
            # Too long, or its first word joins the header in other tokens.
            left, summarize = left - max(1, min(left, tokens - room)) if summarize is extract else left, extract
        return None

    def _measure(self, source: Source, most_tokens: int) -> CountText:
        """Counts tokens; where the length goes by the source, counts a text as at least its share of that length."""
        if not self.settings.summary_dynamic:
            return self.text_tokens
        most = summary_length(sum(len(text) for _, text in source.passages)).characters
        return lambda text: max(self.text_tokens(text), -(-len(text) * most_tokens // most))


def _summary(summarize: Summarize, source: Source, most_tokens: int, count: CountText) -> str:
    if summarize is not extract:
        # A window never fails for want of a model.
        with suppress(Exception):
            return summarize(source, most_tokens, count).strip()
    return extract(source, most_tokens, count) or _opening(source, most_tokens, count)


def _opening(source: Source, most_tokens: int, count: CountText) -> str:
    """How the source begins, where no sentence of it fits: a summary in little room says little, but covers."""
    said = [(speaker, text) for speaker, text in source.passages if text.strip()] or source.passages
    return beginning("\n".join(f"{speaker}: {text}" for speaker, text in said), most_tokens, count)


# --- what must be in a window and does not fit -----------------------------------------------------------------------


def fitted(draft: Draft, budget: int) -> tuple[Draft, tuple[Clipped, ...]]:
    """The draft, clipped where single messages that always stay exceed the whole budget; raises `WindowTooSmall`."""
    conversation = draft.conversation
    must = [conversation.groups[index] for index in sorted(draft.must)]
    least = draft.around + sum(group.tokens for group in must)
    if least <= budget:
        return draft, ()
    large = [ref for group in must for ref in group.refs if ref.tokens > budget and not ref.fixed]
    rest = least - sum(ref.tokens for ref in large)
    reserve = int(budget * draft.settings.summary_share) if len(must) < len(conversation.groups) else 0
    room = budget - rest - reserve
    shown, counts = list(draft.messages), [ref.tokens for ref in conversation.messages]
    for ref in large:
        message = clip_message(shown[ref.seq], ref.tokens, room // len(large), draft.text_tokens)
        if message is None:
            break
        shown[ref.seq], counts[ref.seq] = message, draft.tokens(message)
    clipped = tuple(Clipped(ref.seq, ref.tokens - counts[ref.seq]) for ref in large)
    if not large or any(one.tokens_left_out <= 0 for one in clipped):
        raise WindowTooSmall(_parts(draft, must), budget=budget)
    return replace(draft, messages=tuple(shown), counts=counts), clipped


def _parts(draft: Draft, must: Sequence[Group]) -> dict[str, int]:
    """Tokens of what must be in a window, by name."""
    parts = {"personal settings, memory, documents and the opening of the reply": draft.around}
    newest = [group for group in must if group.is_request][-1:]
    for group in must:
        if group in newest:
            name = f"newest user message, index {group.first_seq}"
        elif group.opens:
            name = f"first user message, index {group.first_seq}"
        elif any(ref.pinned for ref in group.refs):
            name = "pins"
        elif group.fixed:
            name = "system messages"
        else:
            name = f"last step or open calls, index {group.first_seq} to {group.last_seq}"
        parts[name] = parts.get(name, 0) + group.tokens
    return parts
