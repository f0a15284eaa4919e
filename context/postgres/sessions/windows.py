"""Windows of stored conversations: what a model call made now would see."""

import asyncio
from collections.abc import Hashable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from purser.budget.postgres.connections.pools import Pool
from purser.context.compression.extracts.extraction import extract
from purser.context.compression.summaries import summary_message
from purser.context.conversation.messages import Message
from purser.context.errors import WindowTooSmall
from purser.context.postgres.conversation.conversations import Conversations
from purser.context.postgres.conversation.counts import in_background
from purser.context.postgres.conversation.placeholders import Placeholders
from purser.context.postgres.memory.memory import Memory
from purser.context.postgres.sessions.preferences import PersonalSettings
from purser.context.postgres.sessions.sessions import Sessions
from purser.context.postgres.sessions.texts import SessionTexts
from purser.context.resolution import ResolvedContext
from purser.context.retrieval import memory_message
from purser.context.retrieval.rendering import MOST_FOUND, most_memory
from purser.context.strategies import STRATEGIES, StrategyName, StrategySettings
from purser.context.strategies.choice import Preference
from purser.context.strategies.settings import share, with_figures
from purser.context.tokens import count_message, count_text
from purser.context.windows.builder import TextsMissing, WindowBuilder
from purser.context.windows.engine import Shown
from purser.context.windows.excerpts import LONG, NEWEST, Within
from purser.context.windows.listing import Cut, Window, cut, resolve_strategy, window_of

EXTRACT_TOKENS = 24_000
"""Tokens of the newest messages from which the extract of one window is made, if it is made of all that is left."""
LONG_EXTRACT_TOKENS = 6_000
"""The same for a conversation that is too long for that: the extract is a preview, made in a tenth of a second."""
INLINE_MESSAGES = 1_000
"""Messages by reference that are cut in the event loop, which takes some milliseconds."""
INLINE_ROW = 2_000
"""Characters of the longest message found up to which all are rendered in the event loop, which takes a millisecond."""
MOST_EXTRACTS = 256
"""Extracts that are cached, of some thousand tokens each."""


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
    preference: str | None = None
    """Preference by which `auto` chooses; `None` for the one of the session."""
    summarizes: bool = True
    """Whether it may contain summaries: the stored one, and an extract of the messages that are not covered."""
    figures: Mapping[str, Any] = field(default_factory=dict)
    """Figures of the strategy by name, as `Figures.given`."""


@dataclass(frozen=True, slots=True)
class SessionWindow:
    """A window of a stored conversation."""

    window: Window
    """The window; its indexes are positions in the conversation, from 0."""
    seqs: Mapping[int, int]
    """Sequence number by position, of the messages that were read to build it."""
    omitted_seqs: tuple[int, int] | None
    """First and last sequence number of the range that was not read, except for required messages."""
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
        added = (one for one, place in placed if place is None and one.role != "tool")
        return "\n".join(one.text for one in added if one not in self.added)


@dataclass(frozen=True)
class _Frame:
    """A builder whose positions are those of a stored thread."""

    tenant: str
    session_id: str
    builder: WindowBuilder
    texts: dict[int, Message]
    """Texts of the builder, by position; read when they are needed."""
    seqs: Mapping[int, int]
    """Sequence number by position."""
    omitted: tuple[int, int] | None
    """First and last sequence number of the omitted range."""


class SessionWindows:
    """Builds windows of stored conversations by the same rules as those of agents. Building one stores nothing."""

    def __init__(
        self,
        pool: Pool,
        memory: Memory,
        memory_tokens: int,
        context: ResolvedContext,
        placeholders: Placeholders,
        *,
        across_sessions: bool = False,
    ) -> None:
        """Args:
        pool: from `purser.budget.postgres.connections.pools.create_pool`.
        memory: is searched for `hybrid` windows.
        memory_tokens: upper bound of its results in tokens.
        context: settings of the process, which apply below those of session and user if the request names no preset.
        placeholders: redacts what a window summarizes.
        across_sessions: whether memory also searches the user's other sessions.
        """
        self._conversations = Conversations(pool)
        self._sessions = Sessions(pool)
        self._settings = PersonalSettings(pool)
        self._memory = memory
        self._memory_tokens = memory_tokens
        self._context = context
        self._placeholders = placeholders
        self._across_sessions = across_sessions
        self._texts = SessionTexts(self._conversations)
        self._extracts = _Extracts()

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
        frame = await self._frame(tenant, session_id, request, thread)
        found = await self._cut(frame, frame.builder, request.budget)
        if STRATEGIES[found.cutter.rule.name].retrieves and (memory := await self._retrieved(frame, found)):
            with suppress(WindowTooSmall):
                again = await self._cut(frame, replace(frame.builder, memory=memory), request.budget)
                # A stored summary takes precedence over memory.
                found = found if again.shows_stored < found.shows_stored else again
        return await self._shown(frame, found)

    async def _frame(self, tenant: str, session_id: str, request: WindowRequest, thread: str) -> _Frame:
        personal = await self._settings.personal(tenant, session_id)
        context = personal.resolved(self._context).settings
        default = None if request.preset else context.parameters
        name, parameters, why = resolve_strategy(request.strategy, request.preset, default, context.strategy)
        parameters = with_figures(parameters, request.figures)
        summarize = extract if request.summarizes and context.compresses else None
        placed, latest = await self._conversations.placed(
            tenant, session_id, thread,
            model=request.model,
            within=_within(request.budget, name, parameters, extracts=summarize is not None),
            summarized=request.summarizes,
        )  # fmt: skip
        conversation = replace(placed.conversation, keeps_first_request=parameters.keeps_first_request)
        summary, stored, texts = placed.summary, None, dict[int, Message]()
        if latest is not None and summary is not None and conversation.summary is not None:
            header = parameters.summary_header
            stored = summary_message(summary.first_seq, summary.last_seq, latest.text, header)
            if header is not None:
                tokens = count_message(stored.to_openai(), request.model).tokens
                conversation = replace(conversation, summary=replace(conversation.summary, tokens=tokens))
        builder = WindowBuilder(
            conversation=conversation,
            texts=texts,
            model=request.model,
            strategy=name,
            reason=why,
            parameters=parameters,
            preference=Preference(request.preference or context.preference),
            summaries=summary.version if summary else 0,
            personal=personal.message,
            summarize=summarize,
            redact=None,
            stored=stored,
            seqs=placed.seqs,
            unread=placed.unread,
            extract_tokens=LONG_EXTRACT_TOKENS if placed.omitted else EXTRACT_TOKENS,
            extracts=self._extracts,
            place=(tenant, session_id, thread, str(summary.version if summary else 0)),
        )
        return _Frame(tenant, session_id, builder, texts, placed.seqs, placed.omitted)

    async def _cut(self, frame: _Frame, builder: WindowBuilder, budget: int) -> Cut:
        """Cuts by reference, and reads the texts that an extract or a clipped message needs."""
        if len(builder.conversation.messages) <= INLINE_MESSAGES:
            # Without texts nothing is extracted or clipped: it takes as long as a switch of threads.
            with suppress(TextsMissing):
                return cut(replace(builder, texts={}, redact=None), budget)
        while True:
            try:
                return await in_background(cut, builder, budget)
            except TextsMissing as missing:
                await self._read(frame, missing.places)
                if builder.redact is None:
                    redact = await self._placeholders.preview(frame.tenant, frame.session_id)
                    builder = replace(builder, redact=redact)

    async def _shown(self, frame: _Frame, found: Cut) -> SessionWindow:
        """Reads the texts of a window and renders it."""
        await self._read(frame, [ref.seq for ref in found.verbatim])
        # Trimmed messages take precedence over whole ones.
        builder = replace(found.builder, texts={**frame.texts, **found.builder.texts})
        window = window_of(replace(found, builder=builder))
        return SessionWindow(window, frame.seqs, frame.omitted, (builder.personal, builder.memory))

    async def _read(self, frame: _Frame, places: Iterable[int]) -> None:
        """Adds the messages at these positions to the texts of the frame."""
        if missing := {frame.seqs[place]: place for place in places if place not in frame.texts}:
            read = await self._texts.read(frame.tenant, frame.session_id, missing)
            frame.texts.update({missing[seq]: message for seq, message in read.items()})

    async def _retrieved(self, frame: _Frame, found: Cut) -> Message | None:
        """The message with what memory finds for the newest user message, without what the window already shows."""
        verbatim, model = found.verbatim, frame.builder.model
        # Not the question alone: nearly all of these are shown beside what memory finds, and statements take long.
        await self._read(frame, [ref.seq for ref in verbatim])
        newest = [ref.seq for ref in verbatim if ref.role == "user"][-1:]
        query = "".join(frame.texts[place].text for place in newest)
        user_id = (await self._sessions.get(frame.tenant, frame.session_id)).user_id if self._across_sessions else None
        shown = {frame.seqs[ref.seq] for ref in verbatim}
        remembered = await self._memory.search(
            frame.tenant, frame.session_id, query, limit=MOST_FOUND, exclude_seqs=shown, user_id=user_id
        )
        most_tokens = most_memory(self._memory_tokens, found.tokens)
        rendered = partial(
            memory_message, remembered.found, (), most_tokens, lambda text: count_text(text, model).tokens
        )
        is_short = all(len(one.text) <= INLINE_ROW for one in remembered.found)
        return rendered() if is_short else await asyncio.to_thread(rendered)


class _Extracts(dict[Hashable, Shown | None]):
    """The last extracts made, by what they were made of. Messages never change, so an extract stays right."""

    def __setitem__(self, key: Hashable, written: Shown | None) -> None:
        super().__setitem__(key, written)
        if len(self) > MOST_EXTRACTS:
            del self[next(iter(self))]


def _within(budget: int, name: StrategyName, parameters: StrategySettings, *, extracts: bool) -> Within:
    """What a window within a budget can show of a conversation, and what its extract may read."""
    extracts = extracts and (STRATEGIES[name].summarizes or STRATEGIES[name].chooses)
    tokens = budget - share(budget, parameters.summary_share) + EXTRACT_TOKENS if extracts else budget
    recents = (parameters.recents_count or 0) + parameters.batch_count
    primers = parameters.primers_count if STRATEGIES[name].primers else 0
    return Within(max(budget, tokens), primers, max(NEWEST, recents + NEWEST - LONG))
