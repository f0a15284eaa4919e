"""AgentRun: one agent takes turns until it answers."""

import asyncio
from dataclasses import replace

from temporalio import workflow
from temporalio.exceptions import ActivityError

from purser.workflows import options
from purser.workflows.contract import (
    ActivityName,
    AgentClosing,
    AgentOutcome,
    AgentRunInput,
    AgentStatus,
    ApprovalDecided,
    Message,
    WorkflowName,
)
from purser.workflows.doors import Doors
from purser.workflows.steps import kind_of, perform, shielded
from purser.workflows.tools import run_tools
from purser.workflows.turn import AgentEnds, Turn


@workflow.defn(name=WorkflowName.AGENT_RUN)
class AgentRun:
    """One agent of a task."""

    @workflow.init
    def __init__(self, start: AgentRunInput) -> None:
        self._start = start
        self._doors = Doors(start.agent, paused=start.paused)
        self._turn = Turn(start, start.turn, self._doors)
        self._replies = start.turn - 1

    @workflow.run
    async def run(self, start: AgentRunInput) -> AgentOutcome:
        """Ends with an outcome, or as cancelled; its key is closed either way."""
        try:
            outcome = await self._turns()
        except AgentEnds as end:
            outcome = self._outcome(end.status, end.reason, end.scope)
        except ActivityError as error:
            outcome = self._outcome(AgentStatus.FAILED, kind_of(error))
        except asyncio.CancelledError:
            outcome = self._outcome(AgentStatus.CANCELLED, "cancelled")
        await shielded(self._close(outcome))
        if outcome.status is AgentStatus.CANCELLED:
            raise asyncio.CancelledError
        return outcome

    @workflow.signal(name=Message.PAUSE)
    def pause(self) -> None:
        """Stops before the next hold."""
        self._doors.paused = True

    @workflow.signal(name=Message.RESUME)
    def resume(self) -> None:
        """Goes on."""
        self._doors.paused = False

    @workflow.signal(name=Message.APPROVAL_DECIDED)
    def approval_decided(self, decided: ApprovalDecided) -> None:
        """Wakes an agent that waits for a person."""
        self._doors.decide(decided)

    async def _turns(self) -> AgentOutcome:
        while True:
            reply = await self._turn.take()
            self._replies += 1
            if not reply.tools:
                return self._outcome(AgentStatus.COMPLETED, "answered")
            if self._turn.number >= self._start.max_turns:
                return self._outcome(AgentStatus.COMPLETED, "max_turns")
            await run_tools(reply.tools)
            self._next_turn()

    def _next_turn(self) -> None:
        number = self._turn.number + 1
        taken = number - self._start.turn
        if workflow.info().is_continue_as_new_suggested() or taken >= self._start.turns_per_run:
            workflow.continue_as_new(replace(self._start, turn=number, paused=self._doors.paused))
        self._turn = Turn(self._start, number, self._doors)

    async def _close(self, outcome: AgentOutcome) -> None:
        closing = AgentClosing(self._start.agent, outcome, self._turn.key, self._turn.compression_key)
        await perform(ActivityName.CLOSE_AGENT, closing, type(None), options.RECORD)

    def _outcome(self, status: AgentStatus, reason: str, scope: str = "") -> AgentOutcome:
        return AgentOutcome(self._start.agent.agent_id, status, self._replies, reason, scope)
