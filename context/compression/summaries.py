"""Summaries: versions of a text that replaces a contiguous range of a conversation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from purser.context.compression.headings import facts_header, language_of_summary, length_header, range_header
from purser.context.compression.layers import Layer, Level, compose
from purser.context.conversation.messages import Message
from purser.context.conversation.quoting import quoted


class Method(StrEnum):
    """How a summary was written."""

    EXTRACTIVE = "extractive"
    """Sentences of the conversation, picked without a model."""
    MODEL = "model"


@dataclass(frozen=True, slots=True)
class Summary:
    """A version of a thread's summary. Each version covers everything that the last one covered, and more."""

    version: int
    first_seq: int
    last_seq: int
    text: str
    """Text as shown in a window: header, layers and facts."""
    method: Method
    key: str
    """Idempotency key of the compression that wrote it, and of its hold."""
    tokens_before: int
    """Tokens that it replaces in a window: the last version and the newly covered messages."""
    tokens_after: int
    """Tokens of the message that shows it."""
    source_digest: str
    """Digest of the source."""
    model: str | None = None
    """The model that wrote it; `None` for an extract."""
    hold_id: str | None = None
    tokens: Mapping[str, int] = field(default_factory=dict)
    """Tokens of the message that shows it, by encoding; counted when it is stored."""
    layers: tuple[Layer, ...] = ()
    """Layers of its text, without header and facts."""
    source_characters: int = 0
    """Characters of all covered messages."""
    prompt_version: str | None = None
    """Version of the prompt."""
    language: str | None = None
    """ISO 639 code of the conversation's language; `None` if mixed or unknown."""
    fidelity: float | None = None
    """Fidelity score of its newest layer, 0 to 1."""
    trigger: str = "request"
    """What triggered the compression."""
    passed: tuple[int, ...] = ()
    """Messages in its range that it passes over: they were pinned, or the newest user message, or belonged to a call of
    these. A later version covers them once that no longer holds."""

    @property
    def parts(self) -> tuple[Layer, ...]:
        """The layers; a single leaf for a version stored without layers."""
        messages = self.last_seq - self.first_seq + 1
        return self.layers or (Layer(Level.LEAF, self.first_seq, self.last_seq, messages, self.text),)

    @property
    def message(self) -> Message:
        """The message that shows it in a window."""
        return summary_message(self.first_seq, self.last_seq, self.text)


def summary_message(first_seq: int, last_seq: int, text: str, header: str | None = None, role: str = "user") -> Message:
    """Renders a summary as a message whose header marks it as a record, not an instruction.

    Its content comes from users, tools and models, so it is quoted and gets the role of a user.

    Args:
        first_seq, last_seq: the covered range.
        text: the summary.
        header: replaces the default header, which is in the language of the text; empty for none.
        role: `system` only where a published format demands it.
    """
    line = range_header(first_seq, last_seq, language_of_summary(text)) if header is None else header
    return Message(role, f"{line}\n{quoted(text)}" if line else quoted(text))


def summary_text(
    layers: Sequence[Layer], facts: str, source_characters: int, language: str | None, *, lengths: bool = True
) -> str:
    """Composes the text of a version: the length header, the layers, and the facts that the layers omit.

    Args:
        layers: ordered oldest first.
        facts: a sheet from `render_facts`; may be empty.
        source_characters: characters of all covered messages.
        language: ISO 639 code of the conversation's language, if known.
        lengths: whether it begins with the length header.
    """
    body = compose(layers)
    header = [length_header(source_characters, len(body), language)] if lengths else []
    return "\n".join([*header, body, *([f"{facts_header(language)}\n{facts}"] if facts else [])])
