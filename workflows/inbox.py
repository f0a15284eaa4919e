"""The messages of a running agent: pauses and decisions that it receives, status reports that it sends."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from functools import partial

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
        self._waits: list[tuple[AgentStatus, ApprovalTicket | None]] = []
        self._reporting = asyncio.Lock()
        self.paused = paused

    def decide(self, decided: ApprovalDecided) -> None:
        """Notes the state of an approval request. Postgres remains the source of truth."""
        self._decided[decided.approval_id] = decided.state

    async def wait_while_paused(self) -> None:
        """Waits while the task is paused."""
        if self.paused:
            await self._wait(AgentStatus.PAUSED, None, self._until_resumed)

    async def decision(self, ticket: ApprovalTicket) -> str:
        """Waits for a decision until shortly after the deadline; returns the request's state, empty if none came."""
        await self._wait(AgentStatus.WAITING_APPROVAL, ticket, partial(self._until_decided, ticket))
        return self._decided.get(ticket.approval_id, "")

    async def _wait(
        self, status: AgentStatus, ticket: ApprovalTicket | None, until: Callable[[], Awaitable[None]]
    ) -> None:
        """Reports a wait and its end. Calls of tools wait in parallel: the agent runs once none of them waits."""
        wait = (status, ticket)
        self._waits.append(wait)
        await self._report()
        await cancellable(until())
        self._waits.remove(wait)
        await self._report()

    async def _until_resumed(self) -> None:
        await workflow.wait_condition(lambda: not self.paused)

    async def _until_decided(self, ticket: ApprovalTicket) -> None:
        left_s = None if ticket.deadline is None else max(0, (ticket.deadline - workflow.now()).total_seconds())
        with contextlib.suppress(TimeoutError):
            await workflow.wait_condition(
                lambda: ticket.approval_id in self._decided,
                timeout=None if left_s is None else left_s + options.DECISION_GRACE.total_seconds(),
            )

    async def _report(self) -> None:
        async with self._reporting:
            await self._send_report(*self._waits[-1] if self._waits else (AgentStatus.RUNNING, None))

    async def _send_report(self, status: AgentStatus, ticket: ApprovalTicket | None) -> None:
        update = StatusUpdate(self._agent.tenant, self._agent.task_id, status, self._agent.agent_id)
        await step(ActivityName.RECORD_STATUS, update, type(None), options.RECORD)
        parent = workflow.info().parent
        if parent is None:
            return
        tickets = tuple(ticket for _, ticket in self._waits if ticket is not None)
        report = AgentReport(self._agent.agent_id, status, ticket, tickets)
        task = workflow.get_external_workflow_handle(parent.workflow_id, run_id=parent.run_id)
        try:
            await cancellable(task.signal(Message.AGENT_REPORT, report))
        except ApplicationError:
            workflow.logger.info("the task of this agent has ended")
