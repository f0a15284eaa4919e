"""The window of a stored conversation: what a call would show of it now."""

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
    """What kind of window is wanted."""

    budget: int
    """Tokens of the whole window."""
    model: str
    """Whose tokens are counted."""
    strategy: str | None = None
    """That of the preset, or what agents are given, if not given."""
    preset: str | None = None
    """One of `WINDOW_PRESETS`."""
    preference: str = "balanced"
    """What `auto` goes by."""
    summarizes: bool = True
    """Whether it may hold summaries: the stored one, and an extract of what that does not cover."""


@dataclass(frozen=True, slots=True)
class SessionWindow:
    """A window of a stored conversation."""

    window: Window
    """Its indexes are places in the conversation, from 0."""
    seqs: tuple[int, ...]
    """Of the whole conversation: sequence numbers by place."""
    added: tuple[Message | None, ...]
    """Personal settings and memory."""

    @property
    def shown(self) -> list[int | None]:
        """Sequence numbers of the window's messages; `None`: it was added."""
        return [None if place is None else self.seqs[place] for place in self.window.indexes]

    @property
    def summary(self) -> str:
        """Texts of the summaries that are shown; empty: none is."""
        placed = zip(self.window.messages, self.window.indexes, strict=True)
        return "\n".join(one.text for one, place in placed if place is None and one not in self.added)


class SessionWindows:
    """Windows of stored conversations of all tenants, cut as those of agents are. Building one stores nothing."""

    def __init__(
        self, pool: Pool, memory: Memory, memory_tokens: int, context: ContextSettings, *, across_sessions: bool = False
    ) -> None:
        """Args:
        pool: from `purser.budget.postgres.connections.pools.create_pool`.
        memory: what `hybrid` windows search.
        memory_tokens: what it may take of them.
        context: settings of agents, by which windows are cut where no preset is asked for.
        across_sessions: whether it looks into the user's other sessions as well.
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
        """The window of a thread, as a call that is made now sees it.

        The stored summary stands for what it covers. What does not fit is cut by the strategy; where that has a
        summary, an extract stands for the compression that a call would wait for. `hybrid` brings back what memory
        finds of the rest, if there is room.

        Args:
            tenant, session_id, thread: which conversation.
            wanted: what kind of window.

        Raises:
            WindowTooSmall: what must be in the window exceeds its budget.
            InvalidSettings: no such strategy or preset.
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
        # A summary goes before what memory finds.
        return found if again.window.version < found.window.version else again

    async def _builder(
        self, tenant: str, session_id: str, request: WindowRequest, thread: str
    ) -> tuple[WindowBuilder, tuple[int, ...]]:
        """The conversation with places for sequence numbers, its texts, and the sequence numbers by place."""
        stored = await self._conversations.conversation(tenant, session_id, thread, model=request.model, whole=True)
        default = None if request.preset else self._context.figures
        name, figures, why = resolve_strategy(request.strategy, request.preset, default, self._context.strategy)
        summary = stored.summary if request.summarizes else None
        stored = replace(stored, summary=summary, keeps_first_request=figures.keeps_first_request)
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
            figures=figures,
            preference=Preference(request.preference),
            summaries=summary.version if summary else 0,
            personal=(await self._settings.personal(tenant, session_id)).message,
            summarize=extract if request.summarizes and self._context.compresses else None,
            stored=summary_message(summary.first_seq, summary.last_seq, texts[thread]) if summary else None,
        ), seqs

    async def _retrieved(
        self, tenant: str, session_id: str, request: WindowRequest, found: SessionWindow
    ) -> Message | None:
        """What memory finds for the newest user message that the window does not show anyway."""
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
    """A conversation with places for sequence numbers, those of its summary included."""
    summary = stored.summary
    if summary is not None:
        first, last = bisect_left(seqs, summary.first_seq), bisect_right(seqs, summary.last_seq) - 1
        summary = replace(summary, first_seq=first, last_seq=last)
    refs = tuple(replace(ref, seq=place) for place, ref in enumerate(stored.messages))
    return replace(stored, messages=refs, summary=summary)
