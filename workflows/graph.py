"""The agent graph of a task: an agent starts once its dependencies have completed, a bounded number at a time."""

import asyncio
from collections.abc import Callable

from temporalio import workflow
from temporalio.exceptions import ApplicationError, FailureError, is_cancelled_exception
from temporalio.workflow import ParentClosePolicy

from purser.workflows.contract import (
    ENDED,
    WORKFLOW_ENDED,
    ActivityName,
    AgentClosing,
    AgentOutcome,
    AgentPlan,
    AgentRef,
    AgentReport,
    AgentRunInput,
    AgentStatus,
    ApprovalTicket,
    Message,
    TaskPlan,
    TaskRef,
    WorkflowName,
)
from purser.workflows.steps import cancellable, record, shielded

Child = workflow.ChildWorkflowHandle[object, AgentOutcome]


class Graph:
    """The agents of one task, with their statuses and outcomes."""

    def __init__(self, task: TaskRef) -> None:
        self._task = task
        self._children: dict[str, Child] = {}
        self._outcomes: dict[str, AgentOutcome] = {}
        self.statuses: dict[str, AgentStatus] = {}
        """Status by agent, in the order of the task file."""
        self.tickets: dict[str, tuple[ApprovalTicket, ...]] = {}
        """Pending approval requests, by the agent that waits."""

    @property
    def outcomes(self) -> tuple[AgentOutcome, ...]:
        """Outcomes of the agents that have ended, in the order of the task file."""
        return tuple(self._outcomes[agent_id] for agent_id in self.statuses if agent_id in self._outcomes)

    def record(self, report: AgentReport) -> None:
        """Records the status of an agent; a status after its end changes nothing."""
        if self.statuses.get(report.agent_id, AgentStatus.SKIPPED) in ENDED:
            return
        self.statuses[report.agent_id] = report.status
        # An agent of 0.1.0 reports one ticket only.
        self.tickets[report.agent_id] = report.tickets or ((report.ticket,) if report.ticket is not None else ())

    async def signal_all(self, message: Message) -> None:
        """Signals every running agent."""
        for child in list(self._children.values()):
            await self._signal(child, message)

    async def run(self, plan: TaskPlan, paused: Callable[[], bool]) -> None:
        """Runs all agents to their end; a cancellation reaches each of them and waits for them to close."""
        self.statuses = dict.fromkeys((agent.agent_id for agent in plan.agents), AgentStatus.WAITING)
        slots = asyncio.Semaphore(plan.max_parallel)
        agents = (self._agent(plan, agent, slots, paused) for agent in plan.agents)
        # With return_exceptions a cancelled gather waits for all agents.
        for ended in await asyncio.gather(*map(asyncio.create_task, agents), return_exceptions=True):
            if ended is not None:
                raise ended

    async def _agent(
        self, plan: TaskPlan, agent: AgentPlan, slots: asyncio.Semaphore, paused: Callable[[], bool]
    ) -> None:
        try:
            await cancellable(workflow.wait_condition(lambda: self._outcomes.keys() >= set(agent.depends_on)))
            if all(self._outcomes[other].status is AgentStatus.COMPLETED for other in agent.depends_on):
                async with slots:
                    outcome = await self._run(plan, agent, paused)
            else:
                outcome = await self._closed(agent, AgentStatus.SKIPPED, "dependency")
        except asyncio.CancelledError:
            outcome = await shielded(self._closed(agent, AgentStatus.CANCELLED, "cancelled"))
        self._outcomes[agent.agent_id] = outcome
        self.record(AgentReport(agent.agent_id, outcome.status))
        self._children.pop(agent.agent_id, None)

    async def _run(self, plan: TaskPlan, agent: AgentPlan, paused: Callable[[], bool]) -> AgentOutcome:
        ref = AgentRef(self._task.tenant, self._task.task_id, agent.agent_id)
        start = AgentRunInput(
            ref,
            agent.max_turns,
            plan.max_wait_s,
            paused=paused(),
            turns_per_run=plan.turns_per_run,
            session_id=plan.session_id,
        )
        try:
            child: Child = await workflow.start_child_workflow(
                WorkflowName.AGENT_RUN,
                start,
                id=ref.workflow_id,
                result_type=AgentOutcome,
                # If the task is terminated, its agents still close their holds.
                parent_close_policy=ParentClosePolicy.REQUEST_CANCEL,
            )
            self._children[agent.agent_id] = child
            self.record(AgentReport(agent.agent_id, AgentStatus.RUNNING))
            if paused() is not start.paused:
                await self._signal(child, Message.PAUSE if paused() else Message.RESUME)
            return await child
        except FailureError as error:  # it ended, or another workflow has its id: that of a task that was reset
            if is_cancelled_exception(error):
                return AgentOutcome(agent.agent_id, AgentStatus.CANCELLED, reason="cancelled")
            return await self._closed(agent, AgentStatus.FAILED, WORKFLOW_ENDED)

    async def _closed(self, agent: AgentPlan, status: AgentStatus, reason: str) -> AgentOutcome:
        """Closes an agent that has no running workflow to close itself."""
        ref = AgentRef(self._task.tenant, self._task.task_id, agent.agent_id)
        outcome = AgentOutcome(agent.agent_id, status, reason=reason)
        await record(ActivityName.CLOSE_AGENT, AgentClosing(ref, outcome), type(None))
        return outcome

    async def _signal(self, child: Child, message: Message) -> None:
        try:
            await child.signal(message)
        except ApplicationError:
            workflow.logger.debug("the agent has ended")
