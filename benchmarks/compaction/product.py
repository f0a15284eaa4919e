"""The product's own path: append, compress as it goes, and the window that a call would see, on a real Postgres."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil

from purser.activities.compress_context import CompressContext, CompressionTarget
from purser.activities.compression.summarizer import Summarizer
from purser.activities.runtime.metrics import Metrics
from purser.benchmarks.compaction.conversations import MODEL, LabelledConversation
from purser.benchmarks.compaction.policies import Remains, is_shown
from purser.budget.postgres.connections.pools import Pool
from purser.budget.scopes import Path
from purser.compose.settings.groups import Context
from purser.context.conversation.conversations import Conversation
from purser.context.conversation.messages import Message
from purser.context.postgres.conversation.conversations import Conversations
from purser.context.postgres.conversation.placeholders import Placeholders
from purser.context.postgres.memory.memory import Memory
from purser.context.postgres.sessions.windows import SessionWindows, WindowRequest
from purser.context.resolution import ResolvedContext
from purser.context.settings import ContextSettings
from purser.context.strategies import StrategyName
from purser.context.windows.listing import Window
from purser.workflows.contract import CompressInput

TENANT = "bench"
AT_ONCE = 10
"""Messages of one append."""
MEMORY_TOKENS = Context.model_fields["memory_token_budget"].default
"""Tokens that retrieved messages may take, as in a process without settings."""


@dataclass(frozen=True)
class ProductSession:
    """A session that is compressed whenever it exceeds the trigger, as those of agents are."""

    pool: Pool
    session_id: str
    budget: int
    """Context budget in tokens."""
    summarizer: Summarizer | None = None
    """`None`: summaries are extracts."""
    settings: ContextSettings = field(default_factory=ContextSettings)

    async def conversation(self) -> Conversation:
        """The session by reference."""
        return await Conversations(self.pool).conversation(TENANT, self.session_id, model=MODEL)

    async def append(self, messages: Sequence[Message]) -> int:
        """Appends messages, a few at a time; returns how often that led to a compression."""
        conversations, compressions = Conversations(self.pool), 0
        for first in range(0, len(messages), AT_ONCE):
            seqs = await conversations.append(
                TENANT,
                self.session_id,
                messages[first : first + AT_ONCE],
                origin=f"{await conversations.last_seq(TENANT, self.session_id)}",
            )
            if (await self.conversation()).tokens > self.settings.trigger_ratio * self.budget:
                compressions += await self.compress(f"k{seqs[-1]}")
        return compressions

    async def compress(self, key: str) -> bool:
        """Compresses the session; returns whether that led to another version."""

        async def target(_: CompressInput) -> CompressionTarget:
            path = Path.parse([f"session:{self.session_id}"])
            return CompressionTarget(path, MODEL, self.settings, self.budget)

        activity = CompressContext(self.pool, target, lambda _: self.summarizer, Placeholders(self.pool), Metrics())
        request = CompressInput(TENANT, self.session_id, key, "", "t", "a", trigger="tokens")
        return (await activity.compress_context(request)).version > 0

    async def window(self, most_tokens: int, strategy: str | None = None) -> Window:
        """What a call would see."""
        windows = SessionWindows(
            self.pool, Memory(self.pool), MEMORY_TOKENS, ResolvedContext(self.settings), Placeholders(self.pool)
        )
        found = await windows.window(TENANT, self.session_id, WindowRequest(most_tokens, MODEL, strategy))
        return found.window


async def rolled(pool: Pool, session_id: str, conversation: LabelledConversation, share: int) -> Remains:
    """What is left of a conversation that was compressed as it went, in a window of a share of its tokens.

    Without memory, which is searched for a question: here nothing is asked.
    """
    most_tokens = sum(conversation.tokens) * share // 100
    settings = ContextSettings()
    session = ProductSession(pool, session_id, ceil(most_tokens / settings.target_ratio), settings=settings)
    await session.append(conversation.messages)
    window = await session.window(most_tokens, StrategyName.THREE_PART)
    lines = [
        line for message in window.messages for line in (" ".join(message.text.split()), *message.text.splitlines())
    ]
    retained = [index for index, text in enumerate(conversation.texts) if is_shown(text, lines)]
    return Remains(retained, "\n".join(message.text for message in window.messages), window.tokens)
