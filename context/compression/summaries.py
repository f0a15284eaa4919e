"""Summaries: what stands for a contiguous range of a conversation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from purser.context.compression.layers import Layer, Level, compose
from purser.context.compression.lengths import length_header
from purser.context.conversation.messages import Message
from purser.context.conversation.quoting import quoted


class Method(StrEnum):
    """What wrote a summary."""

    EXTRACTIVE = "extractive"
    """Sentences of the conversation, picked without a model."""
    MODEL = "model"


@dataclass(frozen=True, slots=True)
class Summary:
    """A version of a thread's summary. It covers everything that the last version covered, and more."""

    version: int
    first_seq: int
    last_seq: int
    text: str
    """As a window shows it: header, layers, facts."""
    method: Method
    key: str
    """Names the compression that made it, and its hold."""
    tokens_before: int
    """Of what it replaces in a window: the last version and the messages that it newly covers."""
    tokens_after: int
    """Of the message that shows it."""
    source_digest: str
    """Of what it was made from."""
    model: str | None = None
    """The model that wrote it."""
    hold_id: str | None = None
    tokens: Mapping[str, int] = field(default_factory=dict)
    """Of the message that shows it, by encoding; counted when it is stored."""
    layers: tuple[Layer, ...] = ()
    """What its text is composed of, without header and facts."""
    source_characters: int = 0
    """Of everything that it covers."""
    prompt_version: str | None = None
    """Of what asked the model."""
    language: str | None = None
    """Code of the conversation's language; `None`: mixed or unknown."""
    fidelity: float | None = None
    """What its newest layer keeps of its source, 0 to 1."""
    trigger: str = "request"
    """Why it was made."""
    passed: tuple[int, ...] = ()
    """Messages of its range that it does not tell: they were pinned. A later version covers them when they are not."""

    @property
    def parts(self) -> tuple[Layer, ...]:
        """Its layers; one leaf where it has none."""
        messages = self.last_seq - self.first_seq + 1
        return self.layers or (Layer(Level.LEAF, self.first_seq, self.last_seq, messages, self.text),)

    @property
    def message(self) -> Message:
        """How a window shows it."""
        return summary_message(self.first_seq, self.last_seq, self.text)


def summary_message(first_seq: int, last_seq: int, text: str, header: str | None = None, role: str = "user") -> Message:
    """A summary as a message that says what it is: a record of what was said, not an instruction.

    What it tells comes from users, tools and models, so it is quoted, and has the authority of a user.

    Args:
        first_seq, last_seq: what it covers.
        text: of the summary.
        header: instead of the usual one.
        role: `system` only where a published format demands it.
    """
    usual = f"Summary of messages {first_seq} to {last_seq} of this conversation, a record of what was said:"
    return Message(role, f"{header or usual}\n{quoted(text)}")


def summary_text(layers: Sequence[Layer], facts: str, source_characters: int, language: str | None) -> str:
    """The text of a version: how much it stands for, its layers, and the facts that they do not tell.

    Args:
        layers: oldest first.
        facts: a sheet of `render_facts`; may be empty.
        source_characters: of everything that it covers.
        language: code of the conversation's language, if it has one.
    """
    body = compose(layers)
    header = length_header(source_characters, len(body), language or "en")
    return "\n".join([header, body, *([f"Facts, with their message:\n{facts}"] if facts else [])])
