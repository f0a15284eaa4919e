"""Briefs: all that an agent's activities need to know and that never changes while it runs, kept in memory."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from purser.activities.postgres.agents import Agents, Given
from purser.activities.settings import ActivitySettings
from purser.activities.tasks.file import Agent
from purser.budget.pricing.prices import PriceBook
from purser.budget.scopes import Path, payers
from purser.context.postgres.conversation.calibration import Calibrations
from purser.context.postgres.conversation.conversations import Conversations
from purser.context.retrieval import Document
from purser.context.settings import ContextSettings
from purser.context.tokens import PER_CONVERSATION, count_async, window_of
from purser.context.tokens.calibration import Calibration
from purser.context.windows.plans import TextRef
from purser.workflows.contract import AgentRef

KEPT = 1_000
"""Briefs in memory at most."""


@dataclass(frozen=True)
class Brief:
    """One agent of a task."""

    ref: AgentRef
    session_id: str
    submitter: str | None
    """Whom the task names."""
    submitted_by: str | None
    """Name of the key that submitted the task."""
    vouched: bool
    """Whether that key may act for others."""
    model: str
    api_base: str | None
    path: Path
    """The scopes that its calls draw on."""
    instructions: str
    """Its system prompt."""
    documents: tuple[Document, ...]
    """Of the task."""
    tools: Sequence[Mapping[str, Any]]
    """Definitions, in the words of the OpenAI API."""
    activities: Mapping[str, tuple[str, str]]
    """Activity type and task queue by tool name."""
    context: ContextSettings
    output_cap: int
    """Output that a call may produce."""
    system_tokens: int
    """Of instructions and tools."""
    window_tokens: int
    """Context budget, in tokens as they are counted."""
    calibration: Calibration
    """What counted tokens mean to the model."""
    question: TextRef
    """The task's input."""
    replies: tuple[TextRef, ...]
    """Of the agents that it depends on."""

    @property
    def thread(self) -> str:
        """Its own conversation."""
        return thread_of(self.ref)


class Briefs:
    """Briefs of all agents."""

    def __init__(
        self,
        agents: Agents,
        conversations: Conversations,
        calibrations: Calibrations,
        prices: PriceBook,
        settings: ActivitySettings,
    ) -> None:
        self._agents = agents
        self._conversations = conversations
        self._calibrations = calibrations
        self._prices = prices
        self._settings = settings
        self._kept: OrderedDict[AgentRef, Brief] = OrderedDict()

    async def of(self, ref: AgentRef) -> Brief:
        """The brief of an agent that runs; raises `TaskNotFound`."""
        brief = self._kept.get(ref)
        if brief is None:
            brief = self._kept[ref] = await self._make(ref)
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(ref)
        return brief

    async def _make(self, ref: AgentRef) -> Brief:
        given = await self._agents.given(ref.tenant, ref.task_id)
        task, agent = given.task, given.task.agent(ref.agent_id)
        tools = _definitions(agent)
        system = [{"role": "system", "content": agent.instructions}]
        system_tokens = (await count_async(system, tools, agent.model)).tokens - PER_CONVERSATION
        context = task.context_settings(self._settings.context)
        calibration = await self._calibrations.of(ref.tenant, agent.model)
        window = window_of(agent.model, self._prices.context_window(agent.model), default=context.context_window_tokens)
        question, replies = await self._texts(ref, given, agent)
        return Brief(
            ref=ref,
            session_id=task.session_id,
            submitter=given.submitter,
            submitted_by=given.submitted_by,
            vouched=given.vouched,
            model=agent.model,
            api_base=agent.api_base,
            path=task.path(agent.id).below(*payers(ref.tenant, given.user_id)),
            instructions=agent.instructions,
            documents=tuple(Document(document.kind, document.text) for document in task.context.documents),
            tools=tools,
            activities={tool.name: (tool.activity or tool.name, tool.task_queue or "") for tool in agent.tools},
            context=context,
            output_cap=self._output_cap(agent),
            system_tokens=system_tokens,
            window_tokens=context.context_budget(calibration.room(window), system_tokens),
            calibration=calibration,
            question=question,
            replies=replies,
        )

    async def _texts(self, ref: AgentRef, given: Given, agent: Agent) -> tuple[TextRef, tuple[TextRef, ...]]:
        seqs = {other: given.replies[other] for other in agent.depends_on if other in given.replies}
        session_id = given.task.session_id
        wanted = {given.input_seq, *seqs.values()}
        tokens = await self._conversations.tokens(ref.tenant, session_id, wanted, model=agent.model)
        replies = tuple(TextRef(seq, tokens[seq], other) for other, seq in seqs.items())
        return TextRef(given.input_seq, tokens[given.input_seq]), replies

    def _output_cap(self, agent: Agent) -> int:
        declared = agent.max_output_tokens or self._settings.max_output_tokens
        return min(declared, self._prices.max_output_tokens(agent.model) or declared)


def thread_of(ref: AgentRef) -> str:
    """Name of an agent's own conversation in its session."""
    return f"{ref.task_id}/{ref.agent_id}"


def _definitions(agent: Agent) -> list[dict[str, Any]]:
    return [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
        }
        for tool in agent.tools
    ]
