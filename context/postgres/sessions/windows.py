"""Windows of stored conversations: what a model call made now would see."""

import asyncio
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace

from purser.budget.postgres.connections.pools import Pool
from purser.context.compression.extraction import extract
from purser.context.compression.summaries import summary_message
from purser.context.conversation.conversations import Conversation
from purser.context.conversation.messages import Message
from purser.context.errors import WindowTooSmall
from purser.context.postgres.conversation.conversations import Conversations
from purser.context.postgres.conversation.summaries import Summaries
from purser.context.postgres.memory.memory import Memory
from purser.context.postgres.sessions.preferences import PersonalSettings
from purser.context.postgres.sessions.sessions import Sessions
from purser.context.retrieval import memory_message
from purser.context.retrieval.rendering import MOST_FOUND, most_memory
from purser.context.settings import ContextSettings
from purser.context.strategies import STRATEGIES
from purser.context.strategies.choice import Preference
from purser.context.tokens import count_text
from purser.context.windows.builder import WindowBuilder
from purser.context.windows.listing import Window, build, resolve_strategy


@dataclass(frozen=True, slots=True)
class WindowRequest:
    """Parameters of a window."""

    budget: int
    """Upper bound of the whole window in tokens."""
    model: str
    """The model whose tokenizer counts."""
    strategy: str | None = None
    """`None` for that of the preset, or else the one that agents use."""
    preset: str | None = None
    """One of `WINDOW_PRESETS`."""
    preference: str = "balanced"
    """Preference by which `auto` chooses."""
    summarizes: bool = True
    """Whether it may contain summaries: the stored one, and an extract of the messages that are not covered."""


@dataclass(frozen=True, slots=True)
class SessionWindow:
    """A window of a stored conversation."""

    window: Window
    """The window; its indexes are positions in the conversation, from 0."""
    seqs: tuple[int, ...]
    """Sequence numbers of the whole conversation, by position."""
    added: tuple[Message | None, ...]
    """Messages with personal settings and memory."""

    @property
    def shown(self) -> list[int | None]:
        """Sequence numbers of the window's messages; `None` for an added message."""
        return [None if place is None else self.seqs[place] for place in self.window.indexes]

    @property
    def summary(self) -> str:
        """Texts of the summaries shown; empty if there is none."""
        placed = zip(self.window.messages, self.window.indexes, strict=True)
        return "\n".join(one.text for one, place in placed if place is None and one not in self.added)


class SessionWindows:
    """Builds windows of stored conversations by the same rules as those of agents. Building one stores nothing."""

    def __init__(
        self, pool: Pool, memory: Memory, memory_tokens: int, context: ContextSettings, *, across_sessions: bool = False
    ) -> None:
        """Args:
        pool: from `purser.budget.postgres.connections.pools.create_pool`.
        memory: is searched for `hybrid` windows.
        memory_tokens: upper bound of its results in tokens.
        context: settings of agents, which apply if the request names no preset.
        across_sessions: whether memory also searches the user's other sessions.
        """
        self._conversations = Conversations(pool)
        self._sessions = Sessions(pool)
        self._summaries = Summaries(pool)
        self._settings = PersonalSettings(pool)
        self._memory = memory
        self._memory_tokens = memory_tokens
        self._context = context
        self._across_sessions = across_sessions

    async def window(self, tenant: str, session_id: str, request: WindowRequest, *, thread: str = "") -> SessionWindow:
        """Builds the window of a thread as a call made now would see it.

        The stored summary replaces what it covers. The strategy cuts what does not fit; if the strategy summarizes, an
        extract replaces the compression that a call would wait for. `hybrid` adds what memory finds among the rest, if
        there is room.

        Args:
            tenant, session_id, thread: the conversation.
            request: parameters of the window.

        Raises:
            WindowTooSmall: the required messages exceed the budget.
            InvalidSettings: there is no such strategy or preset.
        """
        builder, seqs = await self._builder(tenant, session_id, request, thread)
        found = await _build(builder, seqs, request)
        if not STRATEGIES[found.window.strategy].retrieves:
            return found
        memory = await self._retrieved(tenant, session_id, request, found)
        try:
            again = await _build(replace(builder, memory=memory), seqs, request) if memory else found
        except WindowTooSmall:
            return found
        # A stored summary takes precedence over memory.
        return found if again.window.version < found.window.version else again

    async def _builder(
        self, tenant: str, session_id: str, request: WindowRequest, thread: str
    ) -> tuple[WindowBuilder, tuple[int, ...]]:
        """A builder over positions instead of sequence numbers, and the sequence numbers by position."""
        stored = await self._conversations.conversation(tenant, session_id, thread, model=request.model, whole=True)
        default = None if request.preset else self._context.parameters
        name, parameters, why = resolve_strategy(request.strategy, request.preset, default, self._context.strategy)
        summary = stored.summary if request.summarizes else None
        stored = replace(stored, summary=summary, keeps_first_request=parameters.keeps_first_request)
        seqs = tuple(ref.seq for ref in stored.messages)
        conversation = _placed(stored, seqs)
        uncovered = [seqs[ref.seq] for group in conversation.groups for ref in group.refs]
        read = await self._conversations.read(tenant, session_id, uncovered)
        versions = {thread: summary.version} if summary else {}
        texts = await self._summaries.texts(tenant, session_id, versions)
        return WindowBuilder(
            conversation=conversation,
            texts={place: read[seq].message for place, seq in enumerate(seqs) if seq in read},
            model=request.model,
            strategy=name,
            reason=why,
            parameters=parameters,
            preference=Preference(request.preference),
            summaries=summary.version if summary else 0,
            personal=(await self._settings.personal(tenant, session_id)).message,
            summarize=extract if request.summarizes and self._context.compresses else None,
            stored=summary_message(summary.first_seq, summary.last_seq, texts[thread]) if summary else None,
        ), seqs

    async def _retrieved(
        self, tenant: str, session_id: str, request: WindowRequest, found: SessionWindow
    ) -> Message | None:
        """The message with what memory finds for the newest user message, without what the window already shows."""
        own = [one for one, place in zip(found.window.messages, found.window.indexes, strict=True) if place is not None]
        query = next((one.text for one in reversed(own) if one.role == "user"), "")
        user_id = (await self._sessions.get(tenant, session_id)).user_id if self._across_sessions else None
        shown = {seq for seq in found.shown if seq is not None}
        remembered = await self._memory.search(
            tenant, session_id, query, limit=MOST_FOUND, exclude_seqs=shown, user_id=user_id
        )
        most_tokens = most_memory(self._memory_tokens, request.budget)
        return await asyncio.to_thread(
            memory_message, remembered, (), most_tokens, lambda text: count_text(text, request.model).tokens
        )


async def _build(builder: WindowBuilder, seqs: tuple[int, ...], request: WindowRequest) -> SessionWindow:
    return SessionWindow(
        await asyncio.to_thread(build, builder, request.budget), seqs, (builder.personal, builder.memory)
    )


def _placed(stored: Conversation, seqs: tuple[int, ...]) -> Conversation:
    """Replaces sequence numbers by positions, in the conversation and in its summary."""
    summary = stored.summary
    if summary is not None:
        first, last = bisect_left(seqs, summary.first_seq), bisect_right(seqs, summary.last_seq) - 1
        summary = replace(summary, first_seq=first, last_seq=last)
    refs = tuple(replace(ref, seq=place) for place, ref in enumerate(stored.messages))
    return replace(stored, messages=refs, summary=summary)
