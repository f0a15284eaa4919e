"""What a window shows beside its conversations: personal settings, and one message with retrieved memory and documents.

A plan holds references to them, as to everything else, and the call renders what its plan names.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from temporalio.exceptions import ApplicationError, ApplicationErrorCategory

from purser.activities.tasks.agent_context import Brief
from purser.context.compression.requests import CountText
from purser.context.conversation.messages import Message
from purser.context.postgres.conversation.conversations import Conversations
from purser.context.postgres.conversation.counts import count_messages, encoding_of
from purser.context.postgres.memory.memory import Memory
from purser.context.postgres.sessions.preferences import PersonalSettings
from purser.context.postgres.sessions.sessions import Sessions
from purser.context.retrieval import Found, Via, memory_message
from purser.context.retrieval.showing import MOST_FOUND, most_memory
from purser.context.tokens import count_text
from purser.context.windows.plans import MemoryRef, PersonalRef, WindowPlan


@dataclass(frozen=True)
class Asides:
    """Plans and renders them."""

    conversations: Conversations
    sessions: Sessions
    settings: PersonalSettings
    memory: Memory
    memory_tokens: int
    """What retrieved messages may take of a window."""
    across_sessions: bool
    """Whether memory looks into the user's other sessions as well."""
    at_once: bool = False
    """Whether there is no time to ask a model for vectors."""

    async def personal(self, brief: Brief) -> PersonalRef | None:
        """The settings that hold now."""
        personal = await self.settings.personal(brief.ref.tenant, brief.session_id)
        if personal.message is None:
            return None
        return PersonalRef(personal.versions, await _tokens(personal.message, brief.model))

    async def documents(self, brief: Brief) -> MemoryRef | None:
        """The task's documents alone."""
        message = memory_message((), brief.documents, 0, _counter(brief))
        if message is None:
            return None
        tokens = await _tokens(message, brief.model)
        return MemoryRef((), tokens, tokens)

    async def retrieved(self, brief: Brief, plan: WindowPlan) -> MemoryRef | None:
        """What memory finds for the task's input, and the documents.

        Args:
            brief: of the agent.
            plan: of the window without it; what this shows anyway need not be found.

        Raises:
            ApplicationError: a model has to be asked, and there is no time for it.
        """
        if self.at_once and self.memory.asks_a_model:
            # A request that is cut off is paid for all the same.
            raise ApplicationError("memory asks a model", type="NotAtOnce", category=ApplicationErrorCategory.BENIGN)
        tenant, session_id = brief.ref.tenant, brief.session_id
        question = (await self.conversations.read(tenant, session_id, [brief.question.seq]))[brief.question.seq]
        user = (await self.sessions.get(tenant, session_id)).user_id if self.across_sessions else None
        found = await self.memory.search(
            tenant, session_id, question.message.text, limit=MOST_FOUND, path=brief.path, user_id=user,
            exclude_seqs={*plan.session.seqs, brief.question.seq, *(reply.seq for reply in brief.replies)},
        )  # fmt: skip
        message = await self._message(brief, found, plan.budget)
        documents = await self.documents(brief)
        if message is None or not found:
            return documents
        best = sorted(found, key=lambda one: -one.score)
        return MemoryRef(
            tuple((one.session_id, one.seq) for one in best),
            await _tokens(message, brief.model),
            documents.tokens if documents else 0,
        )

    async def rendered(self, brief: Brief, plan: WindowPlan) -> tuple[Message | None, Message | None]:
        """The messages of `plan.personal` and `plan.memory`."""
        tenant, session_id = brief.ref.tenant, brief.session_id
        personal = memory = None
        if plan.personal is not None:
            personal = (await self.settings.at(tenant, session_id, plan.personal.versions)).message
        if plan.memory is not None:
            # Best first, as the plan has them: the same rows fit as when it was made.
            scores = {key: float(-place) for place, key in enumerate(plan.memory.found)}
            found = await self.memory.read(tenant, scores, dict.fromkeys(scores, Via.LEXICAL))
            memory = await self._message(brief, found, plan.budget)
        return personal, memory

    async def _message(self, brief: Brief, found: Sequence[Found], budget: int) -> Message | None:
        most_tokens = most_memory(self.memory_tokens, budget)
        return await asyncio.to_thread(memory_message, found, brief.documents, most_tokens, _counter(brief))


def _counter(brief: Brief) -> CountText:
    return lambda text: count_text(text, brief.model).tokens


async def _tokens(message: Message, model: str) -> int:
    [counts] = await count_messages([message], [model])
    return counts[encoding_of(model)]
