"""What others tell a running agent, and what it tells its task."""

import contextlib

from temporalio import workflow
from temporalio.exceptions import ApplicationError

from purser.workflows import options
from purser.workflows.contract import (
    ActivityName,
    AgentRef,
    AgentReport,
    AgentStatus,
    ApprovalDecided,
    ApprovalTicket,
    Message,
    StatusUpdate,
)
from purser.workflows.steps import noticing, step


class Doors:
    """Pause, resume and decisions on their way in; the agent's status on its way out."""

    def __init__(self, agent: AgentRef, *, paused: bool) -> None:
        self._agent = agent
        self._decided: dict[str, str] = {}
        self.paused = paused

    def decide(self, decided: ApprovalDecided) -> None:
        """Notes what became of an approval request; Postgres holds the truth."""
        self._decided[decided.approval_id] = decided.state

    async def pass_when_open(self) -> None:
        """Stops here while the task is paused."""
        if not self.paused:
            return
        await self._tell(AgentStatus.PAUSED)
        await noticing(workflow.wait_condition(lambda: not self.paused))
        await self._tell(AgentStatus.RUNNING)

    async def decision(self, ticket: ApprovalTicket) -> str:
        """Waits for a person, at the longest until the deadline; the request's state, or nothing if none came."""
        await self._tell(AgentStatus.WAITING_APPROVAL, ticket)
        with contextlib.suppress(TimeoutError):
            await noticing(self._until_decided(ticket))
        await self._tell(AgentStatus.RUNNING)
        return self._decided.pop(ticket.approval_id, "")

    async def _until_decided(self, ticket: ApprovalTicket) -> None:
        left = None if ticket.deadline is None else max(0, (ticket.deadline - workflow.now()).total_seconds())
        await workflow.wait_condition(
            lambda: ticket.approval_id in self._decided,
            timeout=None if left is None else left + options.DECISION_GRACE.total_seconds(),
        )

    async def _tell(self, status: AgentStatus, ticket: ApprovalTicket | None = None) -> None:
        update = StatusUpdate(self._agent.tenant, self._agent.task_id, status, self._agent.agent_id)
        await step(ActivityName.RECORD_STATUS, update, type(None), options.RECORD)
        parent = workflow.info().parent
        if parent is None:
            return
        task = workflow.get_external_workflow_handle(parent.workflow_id, run_id=parent.run_id)
        try:
            await noticing(task.signal(Message.AGENT_REPORT, AgentReport(self._agent.agent_id, status, ticket)))
        except ApplicationError:
            workflow.logger.info("the task of this agent has ended")
