"""Agent contexts: everything about an agent that its activities need and that is fixed while it runs, cached."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from purser.activities.postgres.agents import Agents, TaskRecord
from purser.activities.runtime.settings import ActivitySettings
from purser.activities.tasks.file import Agent
from purser.activities.tasks.recall_tool import RECALL_TOOL
from purser.budget.labels import stored_tags
from purser.budget.pricing.price_book import PriceBook
from purser.budget.scopes import Path, payers
from purser.context.postgres.conversation.calibration import Calibrations
from purser.context.postgres.conversation.conversations import Conversations
from purser.context.postgres.sessions.preferences import PersonalSettings
from purser.context.recent import Recent
from purser.context.retrieval import Document
from purser.context.settings import ContextSettings
from purser.context.tokens import PER_CONVERSATION, count_async, count_text
from purser.context.tokens.calibration import Calibration
from purser.context.windows.agent_window import reply_line
from purser.context.windows.plans import TextRef, WindowPlan
from purser.workflows.contract import ActivityName, AgentRef

MAX_CACHED = 1_000
"""Most agent contexts in the cache."""


@dataclass(frozen=True)
class AgentContext:
    """One agent of a task."""

    ref: AgentRef
    session_id: str
    submitter: str | None
    """Submitter that the task names."""
    submitted_by: str | None
    """Name of the key that submitted the task."""
    vouched: bool
    """Whether that key may act for others."""
    model: str
    api_base: str | None
    path: Path
    """The scopes on which its calls draw."""
    last_of: tuple[int, ...]
    """For each scope of `path`, how many agents of the task share what it reserves for last calls; 0: it has none."""
    instructions: str
    """Its system prompt."""
    documents: tuple[Document, ...]
    """Documents of the task."""
    budget_line: bool
    """Whether its calls say what is left of its budget."""
    tools: Sequence[Mapping[str, Any]]
    """Tool definitions in the format of the OpenAI API."""
    recall_tokens: int
    """Tokens that the tool `recall_message` adds; 0 if the agent has a tool of that name."""
    activities: Mapping[str, tuple[str, str]]
    """Activity type and task queue by tool name."""
    tool_prices: Mapping[str, int]
    """Declared prices of paid tools, in nano-dollars, by tool name."""
    context: ContextSettings
    header_tokens: int
    """Tokens by which the line above a summary may exceed the usual one."""
    output_cap: int
    """Most output tokens of a call."""
    system_tokens: int
    """Tokens of instructions and tools."""
    window_tokens: int
    """Context budget, in tokens as Purser counts them."""
    calibration: Calibration
    """Converts counted tokens to tokens of the model."""
    question: TextRef
    """The task's input."""
    question_characters: int
    """Length of the input."""
    replies: tuple[TextRef, ...]
    """Replies of the agents on which it depends."""

    def offered(self, *, recall: bool) -> Sequence[Mapping[str, Any]]:
        """Tools of a call, with or without `recall_message`."""
        return [*self.tools, RECALL_TOOL] if recall else self.tools

    def recalls(self, plan: WindowPlan) -> bool:
        """Whether the call of a window offers `recall_message`.

        An agent without tools gets it only if a message is shown in part: not every model can call tools.
        """
        return self.recall_tokens > 0 and bool(plan.in_part or (self.tools and plan.left_out))

    @property
    def thread(self) -> str:
        """Name of its own conversation in its session."""
        return f"{self.ref.task_id}/{self.ref.agent_id}"


class AgentContexts:
    """Contexts of all agents, cached."""

    def __init__(
        self,
        agents: Agents,
        conversations: Conversations,
        calibrations: Calibrations,
        personal: PersonalSettings,
        prices: PriceBook,
        settings: ActivitySettings,
    ) -> None:
        self._agents = agents
        self._conversations = conversations
        self._calibrations = calibrations
        self._personal = personal
        self._prices = prices
        self._settings = settings
        self._cache = Recent[tuple[AgentRef, str], AgentContext](MAX_CACHED)

    async def of(self, ref: AgentRef, model: str = "") -> AgentContext:
        """Returns the context of a running agent; raises `TaskNotFound`.

        Args:
            ref: the agent.
            model: the model of one of its calls; empty: its own.
        """
        agent_context = await self._cached(ref, "")
        return await self._cached(ref, model) if model not in ("", agent_context.model) else agent_context

    async def _cached(self, ref: AgentRef, model: str) -> AgentContext:
        if (agent_context := self._cache.get((ref, model))) is None:
            agent_context = await self._make(ref, model)
            self._cache.put((ref, model), agent_context)
        return agent_context

    async def _make(self, ref: AgentRef, model: str) -> AgentContext:
        record = await self._agents.task_record(ref.tenant, ref.task_id)
        task, agent = record.task, record.task.agent(ref.agent_id)
        if model:
            agent = agent.model_copy(update={"model": model})
        tools = _definitions(agent)
        system = [{"role": "system", "content": agent.instructions}]
        system_tokens = (await count_async(system, tools, agent.model)).tokens - PER_CONVERSATION
        with_recall = (await count_async(system, [*tools, RECALL_TOOL], agent.model)).tokens - PER_CONVERSATION
        activities = {tool.name: (tool.activity or tool.name, tool.task_queue or "") for tool in agent.tools}
        recall = str(ActivityName.RECALL_MESSAGE)
        personal, calibration, (question, replies) = await asyncio.gather(
            self._personal.personal(ref.tenant, task.session_id),
            self._calibrations.of(ref.tenant, agent.model),
            self._texts(ref, record, agent),
        )
        context = task.resolved_context(self._settings.context, personal).settings
        window = context.window_of(agent.model, self._prices)
        path = task.path(agent.id).below(*payers(ref.tenant, record.user_id))
        return AgentContext(
            ref=ref,
            session_id=task.session_id,
            submitter=record.submitter,
            submitted_by=record.submitted_by,
            vouched=record.vouched,
            model=agent.model,
            api_base=agent.api_base,
            path=replace(path, tags=stored_tags(record.tags)),
            last_of=tuple(task.drawing_on(scope) for scope in path.scopes),
            instructions=agent.instructions,
            documents=tuple(Document(document.kind, document.text) for document in task.context.documents),
            budget_line=task.context.budget_line,
            tools=tools,
            recall_tokens=0 if recall in activities else with_recall - system_tokens,
            activities={recall: (recall, "")} | activities,
            tool_prices={tool.name: tool.price_usd for tool in agent.tools if tool.price_usd},
            context=context,
            header_tokens=count_text(context.summary_header, agent.model).tokens if context.summary_header else 0,
            output_cap=self._output_cap(agent),
            system_tokens=system_tokens,
            window_tokens=context.context_budget(calibration.room(window), system_tokens),
            calibration=calibration,
            question=question,
            question_characters=len(task.input),
            replies=replies,
        )

    async def _texts(self, ref: AgentRef, record: TaskRecord, agent: Agent) -> tuple[TextRef, tuple[TextRef, ...]]:
        seqs = {other: record.replies[other] for other in agent.depends_on if other in record.replies}
        session_id = record.task.session_id
        wanted = {record.input_seq, *seqs.values()}
        tokens = await self._conversations.tokens(ref.tenant, session_id, wanted, model=agent.model)
        replies = tuple(
            TextRef(seq, tokens[seq] + count_text(reply_line(other), agent.model).tokens, other)
            for other, seq in seqs.items()
        )
        return TextRef(record.input_seq, tokens[record.input_seq]), replies

    def _output_cap(self, agent: Agent) -> int:
        declared = agent.max_output_tokens or self._settings.max_output_tokens
        return min(declared, self._prices.max_output_tokens(agent.model) or declared)


def _definitions(agent: Agent) -> list[dict[str, Any]]:
    return [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
        }
        for tool in agent.tools
    ]
