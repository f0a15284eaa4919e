"""The workflow `AgentRun`: one agent takes turns until it answers."""

import asyncio
from dataclasses import replace

from temporalio import workflow
from temporalio.exceptions import ActivityError

from purser.workflows.contract import (
    ActivityName,
    AgentClosing,
    AgentOutcome,
    AgentRef,
    AgentRunInput,
    AgentStatus,
    ApprovalDecided,
    Message,
    WorkflowName,
)
from purser.workflows.gate import Gate
from purser.workflows.inbox import AgentInbox
from purser.workflows.inputs import check_agent, decoding, initializing
from purser.workflows.outcome import BUDGET
from purser.workflows.steps import failure_type, record, shielded
from purser.workflows.tools import run_tools
from purser.workflows.turn import AgentEnded, Turn


@workflow.defn(name=WorkflowName.AGENT_RUN)
class AgentRun:
    """One agent of a task."""

    @workflow.init
    @initializing(AgentRunInput(AgentRef("", "", ""), 1))
    def __init__(self, start: AgentRunInput) -> None:
        self._start = start
        self._inbox = AgentInbox(start.agent, paused=start.paused)
        self._gate = Gate(start, self._inbox)
        self._turn = Turn(start, start.turn, self._inbox, self._gate)
        self._called: dict[str, bool] = {}
        """Keys of holds of this turn's paid tools, each with whether the tool was called."""
        self._replies = start.turn - 1

    @workflow.run
    @decoding
    async def run(self, start: AgentRunInput) -> AgentOutcome:
        """Returns the outcome or ends as cancelled; closes the agent's key either way."""
        check_agent(start.agent)
        try:
            outcome = await self._turns()
        except AgentEnded as ended:
            outcome = self._outcome(ended.status, ended.reason, ended.scope)
        except ActivityError as error:
            outcome = self._outcome(AgentStatus.FAILED, failure_type(error))
        except asyncio.CancelledError:
            outcome = self._outcome(AgentStatus.CANCELLED, "cancelled")
        await shielded(self._close(outcome))
        if outcome.status is AgentStatus.CANCELLED:
            raise asyncio.CancelledError
        return outcome

    @workflow.signal(name=Message.PAUSE)
    def pause(self) -> None:
        """Pauses the agent before its next hold."""
        self._inbox.paused = True

    @workflow.signal(name=Message.RESUME)
    def resume(self) -> None:
        """Resumes the agent."""
        self._inbox.paused = False

    @workflow.signal(name=Message.APPROVAL_DECIDED)
    def approval_decided(self, decided: ApprovalDecided) -> None:
        """Wakes the agent while it waits for an approval."""
        self._inbox.decide(decided)

    async def _turns(self) -> AgentOutcome:
        while True:
            try:
                reply = await self._turn.take()
            except AgentEnded as ended:
                return await self._conclude(ended)
            self._replies += 1
            if not reply.tools:
                return self._outcome(AgentStatus.COMPLETED, "answered")
            if self._turn.number >= self._start.max_turns:
                return self._outcome(AgentStatus.COMPLETED, "max_turns")
            await run_tools(reply.tools, self._gate, self._called)
            self._called.clear()
            self._next_turn()

    async def _conclude(self, ended: AgentEnded) -> AgentOutcome:
        """Makes the agent's last call, if a budget reserves a part for it."""
        if not ended.may_conclude or not await self._turn.conclude():
            raise ended
        self._replies += 1
        return self._outcome(AgentStatus.COMPLETED, BUDGET, ended.scope)

    def _next_turn(self) -> None:
        number = self._turn.number + 1
        taken = number - self._start.turn
        if workflow.info().is_continue_as_new_suggested() or taken >= self._start.turns_per_run:
            workflow.continue_as_new(replace(self._start, turn=number, paused=self._inbox.paused))
        self._turn = Turn(self._start, number, self._inbox, self._gate)

    async def _close(self, outcome: AgentOutcome) -> None:
        closing = AgentClosing(
            self._start.agent,
            outcome,
            self._turn.key,
            self._turn.compression_key,
            self._turn.last_key,
            tuple(self._called),
            tuple(key for key, called in self._called.items() if not called),
        )
        await record(ActivityName.CLOSE_AGENT, closing, type(None))

    def _outcome(self, status: AgentStatus, reason: str, scope: str = "") -> AgentOutcome:
        return AgentOutcome(self._start.agent.agent_id, status, self._replies, reason, scope)
