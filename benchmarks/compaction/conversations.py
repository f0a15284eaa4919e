"""Labelled conversations: messages, and questions whose evidence is known."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from purser.benchmarks.data import Row
from purser.context.conversation.messages import Message, StoredMessage
from purser.context.tokens import PER_MESSAGE, count_text

MODEL = "gpt-4"
"""Model whose tokenizer counts: `cl100k_base`."""
_ADVERSARIAL = 5
"""Category of questions without a true answer."""
_FIELDS = ("role", "content", "name", "tool_calls", "tool_call_id")


def count(text: str) -> int:
    """Counts the tokens of a text."""
    return count_text(text, MODEL).tokens


def messages_of(row: Row) -> list[Message]:
    """The messages of a row."""
    raw = [{field: one[field] for field in _FIELDS if one.get(field)} for one in row["messages"]]
    return [
        Message.parse(one if one.get("tool_calls") else {"content": ""} | one, index, linked=False)
        for index, one in enumerate(raw)
    ]


@dataclass(frozen=True)
class Question:
    """A question about the conversation."""

    evidence: Sequence[int]
    """Indexes of the messages that hold the answer; -1 if there is no such message."""
    answers: Sequence[str]
    """Accepted answers."""
    text: str = ""


@dataclass(frozen=True)
class LabelledConversation:
    """A conversation and its questions."""

    messages: Sequence[Message]
    questions: Sequence[Question]

    @classmethod
    def of(cls, row: Row) -> "LabelledConversation":
        """Reads a row; questions without evidence or without a true answer are left out."""
        return cls(messages_of(row), asked(row))

    @cached_property
    def texts(self) -> list[str]:
        """Text of each message."""
        return [message.text for message in self.messages]

    @cached_property
    def tokens(self) -> list[int]:
        """Tokens of each message."""
        return [count(text) + PER_MESSAGE for text in self.texts]

    @cached_property
    def stored(self) -> list[StoredMessage]:
        """The messages in the form from which facts are extracted; the sequence number is the index plus 1."""
        return [StoredMessage(index + 1, "", message, {}) for index, message in enumerate(self.messages)]


def asked(row: Row) -> list[Question]:
    """The questions of a row that have evidence and a true answer."""
    places = {message["turn_id"]: index for index, message in enumerate(row["messages"])}
    found = [one for one in row["qa"] if one.get("evidence") and one.get("category") != _ADVERSARIAL]
    return [_question(one, places) for one in found]


def _question(one: Row, places: Mapping[object, int]) -> Question:
    answers = one["answer"] if isinstance(one["answer"], list) else [one["answer"]]
    evidence = [places.get(turn, -1) for turn in one["evidence"]]
    return Question(evidence, [str(answer) for answer in answers], one.get("question", ""))
