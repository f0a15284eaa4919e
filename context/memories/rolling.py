"""Memories that fold older messages into a rolling summary as the conversation grows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from purser.context.compression.extracts.extraction import extract
from purser.context.compression.requests import SummarySource
from purser.context.compression.summaries import summary_message
from purser.context.compression.writing import Writer
from purser.context.conversation.conversations import Conversation, Group, MessageRef, SummaryRef
from purser.context.conversation.messages import SYSTEM_ROLES, Message
from purser.context.memories.base import ConversationMemory
from purser.context.strategies import StrategyName, StrategySettings, strategy_of
from purser.context.windows.advice import AnyMessage
from purser.wire.limits import USUAL_MODEL

MOST_SUMMARY = 1_024
"""Upper bound of a summary in tokens."""


@dataclass(frozen=True, slots=True)
class RollingState:
    """Summary of a conversation and how far it reaches, to be stored with its messages."""

    summary: str = ""
    covered: int = 0
    """Number of leading messages that the summary covers; system messages and pins among them stay verbatim."""

    @classmethod
    def parse(cls, value: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`; missing or null fields mean that nothing was folded."""
        return cls(value.get("summary") or "", value.get("covered") or 0)

    def to_dict(self) -> dict[str, Any]:
        """The state as a JSON object."""
        return asdict(self)


class RollingMemory(ConversationMemory):
    """Shows the newest messages and a summary into which full batches of older ones are merged."""

    _summary_role = "user"

    def __init__(
        self,
        summarize: Callable[..., str] | None = None,
        *,
        compression_threshold: int = 6,
        recent_messages_limit: int = 10,
        progressive: bool = True,
        system_prompt: str = "",
        model: str = USUAL_MODEL,
    ) -> None:
        """Args:
        summarize: summarizes a text; without it, summaries are extractive.
        compression_threshold: number of messages folded at a time: 6, with 10 recent ones, folds at the 16th message
            and then after every 6.
        recent_messages_limit: number of newest messages that stay verbatim.
        progressive: merges new messages into the last summary; otherwise each summary is made from all messages.
        system_prompt, model: as for every memory.
        """
        super().__init__(system_prompt, model=model)
        self._summarize = summarize
        self._progressive = progressive
        self._strategy = strategy_of(
            StrategyName.SUMMARY,
            StrategySettings(recents_count=recent_messages_limit, batch_count=compression_threshold),
            messages=0,
        )
        self.state = RollingState()
        """Summary and how far it reaches; assign a stored state to resume."""
        self.fault = ""
        """Why the last attempt made no summary; the state is then unchanged, and the next message tries again."""

    def add_message(self, role: str | AnyMessage, content: str | None = None, **fields: Any) -> None:
        """Adds a message, and folds a batch if it is full."""
        super().add_message(role, content, **fields)
        self.compress()

    def compress(self) -> bool:
        """Folds the full batches of older messages into the summary.

        Returns:
            Whether the summary changed.
        """
        conversation = self._conversation(self.state.covered)
        end = min(self._strategy.oldest(conversation), conversation.settled)
        batch = _seqs(conversation.groups[:end])
        if not batch:
            return False
        earlier = batch
        if not self._progressive:
            earlier = [seq for seq in _seqs(self._conversation(0).groups) if seq <= batch[-1]]
        last = self.state.summary if self._progressive else ""
        source = SummarySource.of(last, [self.messages[seq] for seq in earlier])
        writer = Writer(self._summarize, self.model, header=False) if self._summarize else None
        text = (writer or extract)(source, MOST_SUMMARY, self._count)
        self.fault = writer.fault if writer else ""
        if text:
            self.state = RollingState(text, batch[-1] + 1)
        return bool(text)

    def window(self) -> Sequence[Message]:
        """System messages, the summary, and the messages that it does not cover."""
        system = [message for message in self.messages if message.role in SYSTEM_ROLES]
        state, role = self.state, self._summary_role
        summaries = [summary_message(1, state.covered, state.summary, role=role)] if state.summary else []
        shown = (self.messages[seq] for one in self._conversation(self.state.covered).groups for seq in one.seqs)
        return [*system, *summaries, *(message for message in shown if message.role not in SYSTEM_ROLES)]

    def _conversation(self, covered: int) -> Conversation:
        """The messages by reference, with the first `covered` ones summarized; sequence numbers are indexes."""
        refs = (
            MessageRef(number, message.role, 0, message.call_ids, message.tool_call_id, message.pinned)
            for number, message in enumerate(self.messages)
        )
        summary = SummaryRef(1, 0, covered - 1, 0) if covered else None
        return Conversation("", tuple(refs), summary, keeps_first_request=False)


def _seqs(groups: Sequence[Group]) -> list[int]:
    """Sequence numbers of the messages that may be covered."""
    return [seq for one in groups if not one.fixed for seq in one.seqs]


class SummaryMemory(RollingMemory):
    """Folds all but the newest message into the summary whenever a number of rounds is reached."""

    # The system that this memory reproduces shows its summary as a system message.
    _summary_role = "system"

    def __init__(
        self,
        summarize: Callable[..., str] | None = None,
        *,
        threshold_rounds: int = 5,
        progressive: bool = True,
        system_prompt: str = "",
        model: str = USUAL_MODEL,
    ) -> None:
        """Args:
        summarize: summarizes a text; without it, summaries are extractive.
        threshold_rounds: number of rounds of two messages at which all but the last message are folded.
        progressive: as for `RollingMemory`.
        system_prompt, model: as for every memory.
        """
        super().__init__(
            summarize,
            compression_threshold=2 * threshold_rounds - 1,
            recent_messages_limit=1,
            progressive=progressive,
            system_prompt=system_prompt,
            model=model,
        )
