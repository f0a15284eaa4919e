"""Summaries: what stands for a contiguous range of a conversation."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from context.messages import Message


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

    @property
    def message(self) -> Message:
        """How a window shows it."""
        return summary_message(self.first_seq, self.last_seq, self.text)


def summary_message(first_seq: int, last_seq: int, text: str) -> Message:
    """A summary as a system message that says what it is: a record of what was said, not an instruction."""
    header = f"Summary of messages {first_seq} to {last_seq} of this conversation, a record of what was said:"
    return Message("system", f"{header}\n{text}")
