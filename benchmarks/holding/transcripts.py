"""Recorded conversations as calls of a model: what each asks and what it answered."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from purser.benchmarks.data import Row
from purser.context.tokens import PER_CONVERSATION, PER_MESSAGE, count_text

MODEL = "gpt-4o"
OUTPUT_CAP = 4_096
PIECE = 64
"""Characters of a piece of a streamed reply: about 16 tokens."""


@dataclass(frozen=True)
class RecordedCall:
    """One call of a conversation."""

    agent_id: str
    prompt_tokens: int
    required: int
    """Tokens of the prompt that a smaller window keeps: system messages and the newest message."""
    reply: str
    """Text of the reply, with names and arguments of tool calls."""
    output: int
    """Tokens of the reply, at most the output cap."""

    @property
    def used(self) -> int:
        """Tokens of the call."""
        return self.prompt_tokens + self.output

    @property
    def pieces(self) -> Sequence[str]:
        """The reply in the pieces in which it streams."""
        return [self.reply[start : start + PIECE] for start in range(0, len(self.reply), PIECE)]


def calls_of(row: Row) -> Iterator[RecordedCall]:
    """The calls of a conversation: each message of an assistant answers all messages before it."""
    prompt = system = PER_CONVERSATION
    newest = 0
    for message in row["messages"]:
        text = str(message.get("content") or "")
        for call in message.get("tool_calls") or ():
            text += call["function"]["name"] + call["function"]["arguments"]
        tokens = count_text(text, MODEL).tokens
        if message["role"] == "assistant" and tokens:
            required = min(prompt, system + newest)
            yield RecordedCall(message.get("name") or "assistant", prompt, required, text, min(tokens, OUTPUT_CAP))
        newest = tokens + PER_MESSAGE
        prompt += newest
        system += newest if message["role"] == "system" else 0
