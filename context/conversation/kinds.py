"""Kinds of conversation, by who speaks how much and whether tools are called.

Ranking and extraction depend on the kind: in a chat between people both sides state facts, while an assistant's long
answers mostly elaborate on what its user said, and tool results are records.
"""

from dataclasses import dataclass
from enum import StrEnum

USER_SHARE = 0.3
"""Share of the text below which users talk to an assistant. In chats between people each side has about half."""
TOOL_SHARE = 0.05
"""Minimum share of messages that call tools or return results in a conversation of agents with tools."""


class Kind(StrEnum):
    """Kind of a conversation."""

    PEOPLE = "people"
    """People who chat, or a user alone: what anyone says counts alike."""
    ASSISTANT = "assistant"
    """A user with an assistant that does most of the talking."""
    TOOLS = "tools"
    """Agents that call tools."""


@dataclass(frozen=True, slots=True)
class Composition:
    """How much of a conversation is whose. The lengths of texts are in any one unit, such as characters or terms."""

    user: int = 0
    """Length of the texts of users."""
    assistant: int = 0
    """Length of the texts of assistants."""
    messages: int = 0
    """Messages of users, assistants and tools."""
    tool_messages: int = 0
    """Messages that call tools or return results."""

    @property
    def kind(self) -> Kind:
        """The kind of the conversation; `PEOPLE` if it is empty."""
        if self.tool_messages and self.tool_messages >= TOOL_SHARE * self.messages:
            return Kind.TOOLS
        return Kind.ASSISTANT if self.user < USER_SHARE * (self.user + self.assistant) else Kind.PEOPLE
