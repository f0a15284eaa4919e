"""One turn of an agent: admit, compress if need be, slow down, call the model.

A compression waits in front of the call only where the window would leave something out; past the soft mark it runs
beside the call.

Each step either goes on with the story or ends the agent by raising `AgentEnds`.
"""

import uuid
from collections.abc import Awaitable
from dataclasses import replace
from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import ActivityError, FailureError, RetryState, WorkflowAlreadyStartedError
from temporalio.workflow import ActivityConfig, ChildWorkflowCancellationType, ParentClosePolicy

from purser.budget.decisions import Verdict
from purser.workflows import options
from purser.workflows.contract import (
    ActivityName,
    AdmitInput,
    AdmitResult,
    AgentRunInput,
    AgentStatus,
    ApprovalInput,
    ApprovalTicket,
    CallInput,
    CallResult,
    CallStatus,
    CompressInput,
    CompressResult,
    CompressSessionInput,
    Plan,
    Shortage,
    Trigger,
    WorkflowName,
)
from purser.workflows.doors import Doors
from purser.workflows.steps import noticing, step

_KEYS = uuid.UUID("6d0c2b5e-0f3b-5d52-9b1e-7f0a4be1c9a4")
_CHANCE = 0.2
"""At most this share is added to a delay, so that agents slowed down together do not come back together."""


class AgentEnds(Exception):
    """The agent cannot go on: an ending, not an error."""

    def __init__(self, status: AgentStatus, reason: str, scope: str = "") -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason
        self.scope = scope


class Turn:
    """One turn, and the names of its holds."""

    def __init__(self, run: AgentRunInput, number: int, doors: Doors) -> None:
        self._run = run
        self._agent = run.agent
        self.number = number
        self._doors = doors
        self._admission = 1
        self._compressed = False

    @property
    def key(self) -> str:
        """Names the hold of the current admission.

        Made of names only: a local activity commits before its workflow task is in history, so a rerun of this code has
        to come to the same key.
        """
        return self._named(str(self._admission))

    @property
    def compression_key(self) -> str:
        """Names the hold of this turn's compression."""
        return self._named("compression")

    async def take(self) -> CallResult:
        """The model's stored reply.

        Raises:
            AgentEnds: refused, denied, or rejected by the provider.
        """
        while True:
            admitted = await self._admitted()
            await self._slowed_down(admitted.delay_ms)
            call = CallInput(self._agent, self.key, admitted.hold_id, self.number)
            reply = await step(ActivityName.CALL_MODEL, call, CallResult, options.CALL_MODEL)
            match reply.status:
                case CallStatus.REPLIED:
                    return reply
                case CallStatus.REJECTED:
                    raise AgentEnds(AgentStatus.FAILED, reply.reason)
            # The hold has ended, so the gate decides anew.
            self._admission += 1

    async def _admitted(self) -> AdmitResult:
        while True:
            await self._doors.pass_when_open()
            answer = await self._asked()
            if answer.plan is Plan.COMPRESS:
                await self._compress(answer)
                continue
            verdict, short = Verdict(answer.verdict), answer.short
            if verdict.admits or short is None:
                await self._compress_beside(answer)
                return answer
            if verdict is not Verdict.ASK:
                raise AgentEnds(AgentStatus.REFUSED, short.reason, short.scope)
            await self._approved(short)

    async def _asked(self) -> AdmitResult:
        """The gate's answer; a wait for open holds of others is over when it comes."""
        request = AdmitInput(self._agent, self.key, self.number, may_compress=not self._compressed)
        answer = await self._asked_at_once(request)
        if answer is not None and answer.verdict != Verdict.WAIT:
            return answer
        # The retries of an activity wait without a trace in history.
        longest = timedelta(seconds=self._run.max_wait_s)
        patient = ActivityConfig(**options.ADMIT, schedule_to_close_timeout=longest)
        try:
            return await step(ActivityName.ADMIT, request, AdmitResult, patient)
        except ActivityError as error:
            if error.retry_state is not RetryState.TIMEOUT:
                raise
        return await step(ActivityName.ADMIT, replace(request, patient=False), AdmitResult, options.ADMIT)

    async def _asked_at_once(self, request: AdmitInput) -> AdmitResult | None:
        admitting: Awaitable[AdmitResult] = workflow.execute_local_activity(
            ActivityName.ADMIT, request, result_type=AdmitResult, **options.ADMIT_AT_ONCE
        )
        try:
            return await noticing(admitting)
        except FailureError:  # of a local activity it comes as it is, not as an ActivityError
            return None

    async def _compress(self, advice: AdmitResult) -> None:
        """Once a turn, and never in its way: where it fails, the old summary stays."""
        self._compressed = True
        agent = self._agent
        request = CompressInput(
            agent.tenant,
            self._run.session_id,
            self.compression_key,
            advice.compress_thread,
            agent.task_id,
            agent.agent_id,
            advice.compress_budget,
            trigger=Trigger.OVERFLOW,
        )
        try:
            await step(ActivityName.COMPRESS_CONTEXT, request, CompressResult, options.COMPRESS)
        except ActivityError:
            workflow.logger.warning("the context could not be compressed")

    async def _compress_beside(self, advice: AdmitResult) -> None:
        """Starts a compression that later calls profit from; it goes on when the agent has ended."""
        if self._compressed or not advice.compress_budget:
            return
        self._compressed = True
        agent = self._agent
        start = CompressSessionInput(
            agent.tenant,
            self._run.session_id,
            advice.compress_thread,
            budget_tokens=advice.compress_budget,
            trigger=Trigger.SOFT_MARK,
            task_id=agent.task_id,
            agent_id=agent.agent_id,
        )
        starting = workflow.start_child_workflow(
            WorkflowName.COMPRESS_SESSION,
            start,
            id=start.workflow_id,
            result_type=CompressResult,
            parent_close_policy=ParentClosePolicy.ABANDON,
            cancellation_type=ChildWorkflowCancellationType.ABANDON,
        )
        try:
            await noticing(starting)
        except WorkflowAlreadyStartedError:
            workflow.logger.info("the conversation is being compressed already")

    async def _approved(self, short: Shortage) -> None:
        """Asks a person to extend the short scope. What was granted is spent through the gate like any limit."""
        request = ApprovalInput(self._agent, self.key, short.scope, workflow.info().workflow_id)
        ticket = await step(ActivityName.REQUEST_APPROVAL, request, ApprovalTicket, options.RECORD)
        state = ticket.state if ticket.state != "pending" else await self._doors.decision(ticket)
        if state in ("denied", "expired"):
            raise AgentEnds(AgentStatus.REFUSED, state, short.scope)

    async def _slowed_down(self, delay_ms: int) -> None:
        if delay_ms > 0:
            factor = 1 + _CHANCE * workflow.random().random()
            await noticing(workflow.sleep(timedelta(milliseconds=delay_ms * factor), summary="backpressure"))

    def _named(self, what: str) -> str:
        run_id = workflow.info().run_id
        return str(uuid.uuid5(_KEYS, f"{run_id}/{self._agent.agent_id}/{self.number}/{what}"))
