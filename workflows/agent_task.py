"""The workflow `AgentTask`: runs the agents of a stored task as child workflows and handles its messages."""

import asyncio
from itertools import chain

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError

from purser.workflows import options
from purser.workflows.contract import (
    ActivityName,
    AgentReport,
    AgentState,
    AgentStatus,
    ApprovalDecision,
    ApprovalTicket,
    DecisionInput,
    DecisionResult,
    Message,
    StatusUpdate,
    TaskClosing,
    TaskOutcome,
    TaskPlan,
    TaskRef,
    TaskState,
    TaskStatus,
    WorkflowName,
)
from purser.workflows.decision_checks import FORMER, malformed
from purser.workflows.graph import Graph
from purser.workflows.inputs import check_task, decoding, initializing
from purser.workflows.outcome import task_reason, task_status
from purser.workflows.steps import cancellable, record, run_activity, shielded

_BOUNDS_OF_LEDGER = "bounds-of-ledger"


@workflow.defn(name=WorkflowName.AGENT_TASK)
class AgentTask:
    """One task of one or many agents."""

    @workflow.init
    @initializing(TaskRef(""))
    def __init__(self, task: TaskRef) -> None:
        self._task = task
        self._graph = Graph(task)
        self._paused = False
        self._ended: TaskStatus | None = None

    @workflow.run
    @decoding
    async def run(self, task: TaskRef) -> TaskOutcome:
        """Returns the outcome or ends as cancelled; every agent is closed either way.

        A task that has ended is not run again: its outcome is returned as it is stored.
        """
        check_task(task)
        relaying = asyncio.create_task(self._relay_pauses())
        former = None
        try:
            former = await self._work()
        except asyncio.CancelledError:
            workflow.logger.info("cancelled")
        relaying.cancel()
        if former is not None:
            return await self._repeat(former)
        outcome = self._outcome()
        self._ended = outcome.status
        await shielded(self._close(outcome))
        if outcome.status is TaskStatus.CANCELLED:
            raise asyncio.CancelledError
        return outcome

    @workflow.signal(name=Message.PAUSE)
    def pause(self) -> None:
        """Pauses every agent before its next hold."""
        self._paused = True

    @workflow.signal(name=Message.RESUME)
    def resume(self) -> None:
        """Resumes every agent."""
        self._paused = False

    @workflow.signal(name=Message.AGENT_REPORT)
    def agent_report(self, report: AgentReport) -> None:
        """Records the status that an agent reports."""
        self._graph.record(report)

    @workflow.update(name=Message.DECIDE_APPROVAL)
    async def decide_approval(self, decision: ApprovalDecision) -> DecisionResult:
        """Decides an approval request and returns the result to the caller."""
        return await self._decide(decision)

    @decide_approval.validator
    def _check_decision(self, decision: ApprovalDecision) -> None:
        if problem := malformed(decision):
            raise ApplicationError(problem, type="InvalidDecision", non_retryable=True)

    @workflow.signal(name=Message.APPROVAL)
    async def approval(self, decision: ApprovalDecision) -> None:
        """Decides an approval request for callers that need no result; ignores a malformed decision."""
        if self._ignores(decision):
            return
        try:
            await self._decide(decision)
        except ActivityError:
            workflow.logger.warning("a decision could not be recorded")

    @workflow.query(name=Message.STATUS)
    def status(self) -> TaskState:
        """Returns the status of the task and of its agents."""
        agents = tuple(AgentState(agent_id, status) for agent_id, status in self._graph.statuses.items())
        return TaskState(self._task.task_id, self._status(), agents)

    @workflow.query(name=Message.APPROVALS)
    def approvals(self) -> tuple[ApprovalTicket, ...]:
        """Returns the approval requests that agents of this task wait for, each once."""
        pending = chain.from_iterable(self._graph.tickets.values())
        return tuple({ticket.approval_id: ticket for ticket in pending}.values())

    async def _work(self) -> TaskOutcome | None:
        """Runs all agents; returns the outcome of a task that has ended, which runs none."""
        plan = await cancellable(record(ActivityName.OPEN_TASK, self._task, TaskPlan))
        if plan.ended is None:
            await self._graph.run(plan, paused=lambda: self._paused)
        return plan.ended

    async def _repeat(self, outcome: TaskOutcome) -> TaskOutcome:
        self._ended = outcome.status
        self._graph.statuses = {agent.agent_id: agent.status for agent in outcome.agents}
        await workflow.wait_condition(workflow.all_handlers_finished)
        return outcome

    async def _decide(self, decision: ApprovalDecision) -> DecisionResult:
        request = DecisionInput(self._task.tenant, decision)
        return await run_activity(ActivityName.RECORD_DECISION, request, DecisionResult, options.RECORD)

    def _ignores(self, decision: ApprovalDecision) -> bool:
        """Whether a signaled decision is malformed, in a replay by the bounds of its time."""
        now, before = bool(malformed(decision)), bool(malformed(decision, FORMER))
        return now if now == before or workflow.patched(_BOUNDS_OF_LEDGER) else before

    async def _relay_pauses(self) -> None:
        """Relays every pause and resume to the agents and stores the task's status."""
        while True:
            await workflow.wait_condition(lambda: self._paused)
            await self._relay(Message.PAUSE, TaskStatus.PAUSED)
            await workflow.wait_condition(lambda: not self._paused)
            await self._relay(Message.RESUME, TaskStatus.RUNNING)

    async def _relay(self, message: Message, status: TaskStatus) -> None:
        update = StatusUpdate(self._task.tenant, self._task.task_id, status)
        await self._graph.signal_all(message)
        await run_activity(ActivityName.RECORD_STATUS, update, type(None), options.RECORD)

    def _status(self) -> TaskStatus:
        if self._ended is not None:
            return self._ended
        if self._paused:
            return TaskStatus.PAUSED
        waits = AgentStatus.WAITING_APPROVAL in self._graph.statuses.values()
        return TaskStatus.WAITING_APPROVAL if waits else TaskStatus.RUNNING

    def _outcome(self) -> TaskOutcome:
        agents = self._graph.outcomes
        cancelled = workflow.cancellation_reason() is not None
        status = task_status(agents, cancelled=cancelled)
        return TaskOutcome(self._task.task_id, status, agents, task_reason(agents, status))

    async def _close(self, outcome: TaskOutcome) -> None:
        closing = TaskClosing(self._task.tenant, outcome)
        await record(ActivityName.CLOSE_TASK, closing, type(None))
        await workflow.wait_condition(workflow.all_handlers_finished)
