"""The window of a stored conversation: what a call would show of it now."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from budget.postgres.connection import Pool
from context.assembly import Window, build_window
from context.conversations import Conversation, MessageRef
from context.errors import WindowTooSmall
from context.extraction import extract
from context.messages import SYSTEM_ROLES, Message
from context.postgres.conversations import Conversations
from context.postgres.memory import Memory
from context.postgres.preferences import PersonalSettings
from context.postgres.sessions import Sessions
from context.postgres.summaries import Summaries
from context.retrieval import memory_message
from context.strategies import WINDOW_PRESETS, StrategyName
from context.summaries import summary_message
from context.tokens import PER_CONVERSATION, count_message, count_text

MOST_FOUND = 25
"""Messages that a search brings, before their tokens are counted."""
MEMORY_PARTS = 4
"""Memory takes at most such a part of a window: what is newer goes first."""
_WITH_STORED_SUMMARY = (StrategyName.SUMMARY, StrategyName.THREE_PART, StrategyName.HYBRID)


@dataclass(frozen=True, slots=True)
class Asked:
    """What kind of window is wanted."""

    budget: int
    """Tokens of the whole window."""
    model: str
    """Whose tokens are counted."""
    strategy: str | None = None
    """`three_part`, or that of the preset, if not given."""
    preset: str | None = None
    """One of `WINDOW_PRESETS`."""
    preference: str = "balanced"
    """What `auto` goes by."""
    summarises: bool = True
    """Whether it may hold summaries: the stored one, and an extract of what that does not cover."""


@dataclass(frozen=True, slots=True)
class SessionWindow:
    """A window whose messages are told by their sequence numbers."""

    built: Window
    messages: tuple[Message, ...]
    """As stored, unless they are clipped or added."""
    seqs: tuple[int | None, ...]
    """Of each message; `None`: it was added."""
    dropped: tuple[tuple[int, str], ...]
    """Messages that are neither shown nor covered, each with the reason."""
    summarised: tuple[int, ...]
    """Messages that a summary of the window covers."""
    clipped: tuple[int, ...]
    """Messages that are shown in part."""
    version: int
    """Of the stored summary that is shown; 0: none is."""
    summary: str
    """Texts of the summaries that are shown; empty: none is."""
    places: Mapping[int, int]
    """Place in the conversation, from 0, by sequence number."""
    whole_tokens: int
    """Of the conversation, and of all that the window adds to it but summaries."""

    @property
    def spans(self) -> list[list[int]]:
        """Runs of places that a summary covers, first and last."""
        places = sorted(self.places[seq] for seq in self.summarised)
        runs = [[place for _, place in run] for _, run in groupby(enumerate(places), lambda at: at[1] - at[0])]
        return [[run[0], run[-1]] for run in runs]


class SessionWindows:
    """Windows of stored conversations of all tenants. Building one stores nothing."""

    def __init__(self, pool: Pool, memory: Memory, memory_tokens: int, *, across_sessions: bool = False) -> None:
        """Args:
        pool: from `budget.postgres.connection.create_pool`.
        memory: what `hybrid` windows search.
        memory_tokens: what it may take of them.
        across_sessions: whether it looks into the user's other sessions as well.
        """
        self._conversations = Conversations(pool)
        self._sessions = Sessions(pool)
        self._summaries = Summaries(pool)
        self._settings = PersonalSettings(pool)
        self._memory = memory
        self._memory_tokens = memory_tokens
        self._across_sessions = across_sessions

    async def window(self, tenant: str, session_id: str, asked: Asked, *, thread: str = "") -> SessionWindow:
        """The window of a thread.

        Where the whole does not fit, the stored summary stands for what it covers, if the strategy has a summary and
        this one fits; what is still too long is cut by the strategy. `hybrid` brings back what memory finds of the
        rest, if there is room.

        Args:
            tenant, session_id, thread: which conversation.
            asked: what kind of window.

        Raises:
            WindowTooSmall: what must be in the window exceeds its budget.
            InvalidSettings: no such strategy or preset.
        """
        conversation = await self._conversations.conversation(tenant, session_id, thread, model=asked.model, whole=True)
        job = _Job(asked, conversation, (await self._settings.personal(tenant, session_id)).message)
        found = await self._shown(tenant, session_id, job)
        if asked.strategy != StrategyName.HYBRID or not (found.summarised or found.dropped):
            return found
        memory = await self._retrieved(tenant, session_id, asked, found)
        try:
            return await self._shown(tenant, session_id, replace(job, memory=memory)) if memory else found
        except WindowTooSmall:
            return found

    async def _shown(self, tenant: str, session_id: str, job: "_Job") -> SessionWindow:
        """With the stored summary if that has its place, else without."""
        conversation = job.conversation
        if (summary := conversation.summary) is not None and job.shows_stored_summary:
            texts = await self._summaries.texts(tenant, session_id, {conversation.thread: summary.version})
            shown = summary_message(summary.first_seq, summary.last_seq, texts[conversation.thread])
            try:
                return await self._built(tenant, session_id, job, shown)
            except WindowTooSmall:
                # With less of a summary there may be room.
                pass
        return await self._built(tenant, session_id, job, None)

    async def _retrieved(self, tenant: str, session_id: str, asked: Asked, found: SessionWindow) -> Message | None:
        """What memory finds for the newest user message that the window does not show anyway."""
        own = [(seq, one) for seq, one in zip(found.seqs, found.messages, strict=True) if seq is not None]
        query = next((one.text for _, one in reversed(own) if one.role == "user"), "")
        user_id = (await self._sessions.get(tenant, session_id)).user_id if self._across_sessions else None
        remembered = await self._memory.search(
            tenant, session_id, query, limit=MOST_FOUND, exclude_seqs={seq for seq, _ in own}, user_id=user_id
        )
        most_tokens = min(self._memory_tokens, asked.budget // MEMORY_PARTS)
        return await asyncio.to_thread(
            memory_message, remembered, (), most_tokens, lambda text: count_text(text, asked.model).tokens
        )

    async def _built(self, tenant: str, session_id: str, job: "_Job", summary: Message | None) -> SessionWindow:
        refs = job.conversation.messages if summary is None else job.uncovered
        stored = await self._conversations.read(tenant, session_id, [ref.seq for ref in refs])
        return await asyncio.to_thread(job.build, refs, [stored[ref.seq].message for ref in refs], summary)


@dataclass(frozen=True, slots=True)
class _Job:
    """A window under way."""

    asked: Asked
    conversation: Conversation
    """With every message."""
    personal: Message | None
    memory: Message | None = None

    @property
    def uncovered(self) -> list[MessageRef]:
        """What the stored summary does not cover."""
        return [ref for group in self.conversation.groups for ref in group.refs]

    @property
    def shows_stored_summary(self) -> bool:
        """Whether the strategy has a summary, and the whole does not fit without one."""
        preset = WINDOW_PRESETS.get(self.asked.preset or "")
        strategy = self.asked.strategy or (preset.strategy if preset else StrategyName.THREE_PART)
        return self.asked.summarises and strategy in _WITH_STORED_SUMMARY and self.whole_tokens > self.asked.budget

    @property
    def whole_tokens(self) -> int:
        """Of a window that leaves nothing out."""
        added = [message.to_openai() for message in (self.personal, self.memory) if message is not None]
        around = PER_CONVERSATION + sum(count_message(message, self.asked.model).tokens for message in added)
        return around + sum(ref.tokens for ref in self.conversation.messages)

    def build(self, refs: Sequence[MessageRef], messages: Sequence[Message], summary: Message | None) -> SessionWindow:
        """The window of these messages, with the stored summary behind the system messages that they begin with."""
        seqs: list[int | None] = [ref.seq for ref in refs]
        shown = [replace(message, pinned=ref.pinned) for ref, message in zip(refs, messages, strict=True)]
        counts = [ref.tokens for ref in refs]
        stored = self.conversation.summary
        if summary is not None and stored is not None:
            block = next((at for at, ref in enumerate(refs) if ref.role not in SYSTEM_ROLES), len(refs))
            seqs.insert(block, None)
            # Planning leaves system messages where they are; the window shows the summary with its own role.
            shown.insert(block, replace(summary, role="system"))
            counts.insert(block, stored.tokens)
        built = build_window(
            shown,
            budget=self.asked.budget,
            model=self.asked.model,
            strategy=self.asked.strategy,
            preset=self.asked.preset,
            preference=self.asked.preference,
            summarize=extract if self.asked.summarises else None,
            summaries=stored.version if stored else 0,
            personal=self.personal,
            memory=self.memory,
            counts=counts,
        )
        given = {ref.seq: message.pinned for ref, message in zip(refs, messages, strict=True)}
        return self._told(built, seqs, given, summary, stored.version if summary is not None and stored else 0)

    def _told(
        self,
        built: Window,
        seqs: Sequence[int | None],
        given: Mapping[int, bool],
        summary: Message | None,
        version: int,
    ) -> SessionWindow:
        """The window by sequence number, its messages pinned as they came."""
        placed = [None if index is None else seqs[index] for index in built.indexes]
        messages = list(built.messages)
        for place, (index, seq) in enumerate(zip(built.indexes, placed, strict=True)):
            if seq is not None:
                messages[place] = replace(messages[place], pinned=given[seq])
            elif index is not None and summary is not None:
                messages[place] = summary
        around = (self.personal, self.memory)
        summaries = [
            one.text for one, index in zip(built.messages, placed, strict=True) if index is None and one not in around
        ]
        every = [ref.seq for ref in self.conversation.messages]
        covered = [seqs[index] for first, last in built.summarised for index in range(first, last + 1)]
        return SessionWindow(
            built=built,
            messages=tuple(messages),
            seqs=tuple(placed),
            dropped=tuple((seq, reason) for index, reason in built.dropped if (seq := seqs[index]) is not None),
            summarised=tuple(sorted({*(seq for seq in covered if seq is not None), *(set(every) - set(given))})),
            clipped=tuple(seq for one in built.stats.clipped if (seq := seqs[one.index]) is not None),
            version=version,
            summary="\n".join(summaries),
            places={seq: place for place, seq in enumerate(every)},
            whole_tokens=self.whole_tokens,
        )
