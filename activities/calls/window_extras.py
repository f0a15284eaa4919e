"""Extra messages of a window: the personal settings, and one message with retrieved memory and documents.

A plan refers to them as to everything else, and the call renders what its plan names.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from temporalio.exceptions import ApplicationError, ApplicationErrorCategory

from purser.activities.models.accepted_messages import AcceptedMessages
from purser.activities.tasks.agent_context import AgentContext
from purser.context.compression.requests import CountText
from purser.context.conversation.messages import Message
from purser.context.postgres.conversation.conversations import Conversations
from purser.context.postgres.conversation.counts import count_messages, encoding_of
from purser.context.postgres.memory.memory import Memory
from purser.context.postgres.sessions.preferences import PersonalSettings
from purser.context.postgres.sessions.sessions import Sessions
from purser.context.retrieval import Found, Via, memory_message
from purser.context.retrieval.rendering import MOST_FOUND, most_memory
from purser.context.tokens import count_text
from purser.context.windows.plans import MemoryRef, PersonalRef, View, WindowPlan
from purser.context.windows.trimming import DOCUMENTS, Remedy, Trim, show_all


@dataclass(frozen=True)
class WindowExtras:
    """Plans and renders the extra messages of a window."""

    conversations: Conversations
    sessions: Sessions
    settings: PersonalSettings
    memory: Memory
    memory_tokens: int
    """Most tokens of retrieved messages in a window."""
    across_sessions: bool
    """Whether memory also searches the user's other sessions."""
    at_once: bool = False
    """Whether there is no time to ask a model for vectors, as in a local activity."""

    async def personal(self, agent_context: AgentContext) -> PersonalRef | None:
        """Returns a reference to the settings in force."""
        personal = await self.settings.personal(agent_context.ref.tenant, agent_context.session_id)
        if personal.message is None:
            return None
        return PersonalRef(personal.versions, await _tokens(personal.message, agent_context.model))

    async def documents(self, agent_context: AgentContext) -> MemoryRef | None:
        """Returns a reference to the task's documents alone."""
        message = memory_message((), agent_context.documents, 0, counter_of(agent_context))
        if message is None:
            return None
        tokens = await _tokens(message, agent_context.model)
        return MemoryRef((), tokens, tokens)

    def may_find(self, plan: WindowPlan) -> bool:
        """Whether the window leaves out messages of its conversations; otherwise a search is not worth its cost."""
        return self.across_sessions or not (_is_whole(plan.session) and _is_whole(plan.own))

    async def retrieved(self, agent_context: AgentContext, plan: WindowPlan) -> MemoryRef | None:
        """Returns a reference to what memory finds for the task's input, with the documents.

        Args:
            agent_context: the agent.
            plan: the window without memory; messages that it shows are excluded from the search.

        Raises:
            ApplicationError: a model must be asked, and there is no time for it.
        """
        if self.at_once and self.memory.asks_a_model:
            # A request that is cut off is charged all the same.
            raise ApplicationError("memory asks a model", type="NotAtOnce", category=ApplicationErrorCategory.BENIGN)
        tenant, session_id = agent_context.ref.tenant, agent_context.session_id
        question = (await self.conversations.read(tenant, session_id, [agent_context.question.seq]))[
            agent_context.question.seq
        ]
        user = (await self.sessions.get(tenant, session_id)).user_id if self.across_sessions else None
        results = await self.memory.search(
            tenant, session_id, question.message.text, limit=MOST_FOUND, path=agent_context.path, user_id=user,
            exclude_seqs={*plan.seqs, *(reply.seq for reply in agent_context.replies)},
        )  # fmt: skip
        found = [one for one in results.found if _is_settled(one, agent_context)]
        # The message stands before the agent's own turns: if its rows grew with them, no cached prefix would last. Once
        # these fill the window, little else is in it, and some of them are to be found.
        growing = plan.own.tokens if _is_whole(plan.own) else 0
        most_tokens = most_memory(self.memory_tokens, plan.tokens - growing)
        message = await self._message(agent_context, found, most_tokens)
        documents = await self.documents(agent_context)
        if message is None or not found:
            return documents
        best = sorted(found, key=lambda one: -one.score)
        return MemoryRef(
            tuple((one.session_id, one.seq) for one in best),
            await _tokens(message, agent_context.model),
            documents.tokens if documents else 0,
            most_tokens,
        )

    async def counted(self, agent_context: AgentContext, planned: Callable[..., WindowPlan]) -> WindowPlan:
        """Returns the plan with the counted tokens of what it shows of trimmed messages.

        Args:
            agent_context: the agent.
            planned: `plan_window` with all arguments but `sizes`.
        """
        sizes: dict[int, int] = {}
        plan = planned()
        while uncounted := [trim for trim in plan.trims if trim.seq not in sizes]:
            sizes |= await self._sizes(agent_context, uncounted)
            plan = planned(sizes=sizes)
        return plan

    async def rendered(self, agent_context: AgentContext, plan: WindowPlan) -> tuple[Message | None, Message | None]:
        """Renders the messages of `plan.personal` and `plan.memory`."""
        tenant, session_id = agent_context.ref.tenant, agent_context.session_id
        personal = memory = None
        if plan.personal is not None:
            personal = (await self.settings.at(tenant, session_id, plan.personal.versions)).message
        if plan.memory is not None:
            # Best first, as in the plan, so that the same rows fit as when it was made.
            scores = {key: float(-place) for place, key in enumerate(plan.memory.found)}
            found = await self.memory.read(tenant, scores, dict.fromkeys(scores, Via.LEXICAL))
            memory = await self._message(agent_context, found, plan.memory.most_tokens)
        return personal, memory

    async def _sizes(self, agent_context: AgentContext, trims: Sequence[Trim]) -> dict[int, int]:
        """Tokens that a window shows of trimmed messages, by sequence number."""
        clipped = [trim.seq for trim in trims if trim.remedy is Remedy.CLIPPED]
        stored = await self.conversations.read(
            agent_context.ref.tenant, agent_context.session_id, {*clipped} - {DOCUMENTS}
        )
        texts, count = {seq: one.message for seq, one in stored.items()}, counter_of(agent_context)
        if DOCUMENTS in clipped and (documents := memory_message((), agent_context.documents, 0, count)):
            texts[DOCUMENTS] = documents
        messages = await asyncio.to_thread(show_all, trims, texts, count)
        counts = await count_messages(list(messages.values()), [agent_context.model])
        encoding = encoding_of(agent_context.model)
        accepted = AcceptedMessages(agent_context.model, agent_context.api_base)
        return {
            seq: found[encoding] + accepted.added(one.role, found[encoding], calls=bool(one.tool_calls))
            for (seq, one), found in zip(messages.items(), counts, strict=True)
        }

    async def _message(self, agent_context: AgentContext, found: Sequence[Found], most_tokens: int) -> Message | None:
        return await asyncio.to_thread(
            memory_message, found, agent_context.documents, most_tokens, counter_of(agent_context)
        )


def _is_whole(view: View) -> bool:
    """Whether all messages of a conversation are shown."""
    return view.summary is None and not view.dropped


def _is_settled(found: Found, agent_context: AgentContext) -> bool:
    """Whether a message is the agent's own or older than its task; what its siblings write depends on their pace."""
    session_id, thread = agent_context.session_id, agent_context.thread
    return found.session_id != session_id or found.seq < agent_context.question.seq or found.thread == thread


def counter_of(agent_context: AgentContext) -> CountText:
    return lambda text: count_text(text, agent_context.model).tokens


async def _tokens(message: Message, model: str) -> int:
    [counts] = await count_messages([message], [model])
    return counts[encoding_of(model)]
