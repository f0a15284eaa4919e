"""The messages of a running agent: pauses and decisions that it receives, status reports that it sends."""

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
from purser.workflows.steps import cancellable, step


class AgentInbox:
    """Receives pause, resume and approval decisions; reports the agent's status to the database and to its task."""

    def __init__(self, agent: AgentRef, *, paused: bool) -> None:
        self._agent = agent
        self._decided: dict[str, str] = {}
        self.paused = paused

    def decide(self, decided: ApprovalDecided) -> None:
        """Notes the state of an approval request. Postgres remains the source of truth."""
        self._decided[decided.approval_id] = decided.state

    async def wait_while_paused(self) -> None:
        """Waits while the task is paused."""
        if not self.paused:
            return
        await self._report(AgentStatus.PAUSED)
        await cancellable(workflow.wait_condition(lambda: not self.paused))
        await self._report(AgentStatus.RUNNING)

    async def decision(self, ticket: ApprovalTicket) -> str:
        """Waits for a decision until shortly after the deadline; returns the request's state, empty if none came."""
        await self._report(AgentStatus.WAITING_APPROVAL, ticket)
        with contextlib.suppress(TimeoutError):
            await cancellable(self._until_decided(ticket))
        await self._report(AgentStatus.RUNNING)
        return self._decided.pop(ticket.approval_id, "")

    async def _until_decided(self, ticket: ApprovalTicket) -> None:
        left_s = None if ticket.deadline is None else max(0, (ticket.deadline - workflow.now()).total_seconds())
        await workflow.wait_condition(
            lambda: ticket.approval_id in self._decided,
            timeout=None if left_s is None else left_s + options.DECISION_GRACE.total_seconds(),
        )

    async def _report(self, status: AgentStatus, ticket: ApprovalTicket | None = None) -> None:
        update = StatusUpdate(self._agent.tenant, self._agent.task_id, status, self._agent.agent_id)
        await step(ActivityName.RECORD_STATUS, update, type(None), options.RECORD)
        parent = workflow.info().parent
        if parent is None:
            return
        task = workflow.get_external_workflow_handle(parent.workflow_id, run_id=parent.run_id)
        try:
            await cancellable(task.signal(Message.AGENT_REPORT, AgentReport(self._agent.agent_id, status, ticket)))
        except ApplicationError:
            workflow.logger.info("the task of this agent has ended")
