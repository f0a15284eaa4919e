"""One turn of an agent: admit, compress if necessary, wait out backpressure, call the model.

The turn waits for a compression only if its window would have to leave something out. Past the soft mark the
compression runs in parallel with the call.

A step that cannot continue ends the agent by raising `AgentEnded`.
"""

import uuid
from collections.abc import Awaitable
from dataclasses import replace
from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import ActivityError, FailureError, RetryState, WorkflowAlreadyStartedError
from temporalio.workflow import ActivityConfig, ChildWorkflowCancellationType, ParentClosePolicy

from purser.budget.gate import Verdict
from purser.workflows import options
from purser.workflows.contract import (
    MAX_JITTER,
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
from purser.workflows.inbox import AgentInbox
from purser.workflows.steps import cancellable, step

_KEYS = uuid.UUID("6d0c2b5e-0f3b-5d52-9b1e-7f0a4be1c9a4")


class AgentEnded(Exception):
    """The agent cannot continue. This is a regular end, not an error."""

    def __init__(self, status: AgentStatus, reason: str, scope: str = "", *, may_conclude: bool = False) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason
        self.scope = scope
        self.may_conclude = may_conclude
        """Whether a last call may still fit."""


class Turn:
    """One turn of an agent and the keys of its holds."""

    def __init__(self, run: AgentRunInput, number: int, inbox: AgentInbox) -> None:
        self._run = run
        self._agent = run.agent
        self.number = number
        self._inbox = inbox
        self._admission = 1
        self._compressed = False
        self._concludes = False

    @property
    def key(self) -> str:
        """The key of the hold of the current admission.

        It is derived from ids alone: a local activity commits before its workflow task is in history, so a rerun of
        this code must arrive at the same key.
        """
        return self._key_for(str(self._admission))

    @property
    def compression_key(self) -> str:
        """The key of the hold of this turn's compression."""
        return self._key_for("compression")

    @property
    def last_key(self) -> str:
        """The key of the hold of the agent's last call; empty until it is asked for."""
        return self._key_for("last") if self._concludes else ""

    async def take(self) -> CallResult:
        """Takes the turn and returns the model's stored reply.

        Raises:
            AgentEnded: the budget refused, an approver denied, or the provider rejected the call.
        """
        while True:
            admitted = await self._admit()
            await self._sleep_before_call(admitted.delay_ms)
            call = CallInput(self._agent, self.key, admitted.hold_id, self.number)
            reply = await step(ActivityName.CALL_MODEL, call, CallResult, options.CALL_MODEL)
            match reply.status:
                case CallStatus.REPLIED:
                    return reply
                case CallStatus.REJECTED:
                    raise AgentEnded(AgentStatus.FAILED, reply.reason)
            # The hold has ended, so the gate is asked again.
            self._admission += 1

    async def conclude(self) -> bool:
        """Makes the agent's last call instead of this turn; returns whether it answered.

        There is no sleep before it: no further call of this agent could be slowed down.
        """
        await self._inbox.wait_while_paused()
        self._concludes = True
        last = AdmitInput(self._agent, self.last_key, self.number, may_compress=False, last=True)
        try:
            admitted = await self._ask_gate(last)
            if not Verdict(admitted.verdict).admits:
                return False
            call = CallInput(self._agent, self.last_key, admitted.hold_id, self.number)
            reply = await step(ActivityName.CALL_MODEL, call, CallResult, options.CALL_MODEL)
        except ActivityError:
            workflow.logger.warning("the last call failed")
            return False
        return reply.status is CallStatus.REPLIED and not reply.tools

    async def _admit(self) -> AdmitResult:
        while True:
            await self._inbox.wait_while_paused()
            request = AdmitInput(self._agent, self.key, self.number, may_compress=not self._compressed)
            answer = await self._ask_gate(request)
            if answer.plan is Plan.COMPRESS:
                await self._compress(answer)
                continue
            verdict, short = Verdict(answer.verdict), answer.short
            if verdict.admits or short is None:
                await self._start_compression(answer)
                return answer
            if verdict is not Verdict.ASK:
                raise AgentEnded(AgentStatus.REFUSED, short.reason, short.scope, may_conclude=answer.may_conclude)
            await self._request_approval(short, may_conclude=answer.may_conclude)

    async def _ask_gate(self, request: AdmitInput) -> AdmitResult:
        """Returns the gate's verdict, after any wait for open holds of others."""
        answer = await self._ask_gate_locally(request)
        if answer is not None and answer.verdict != Verdict.WAIT:
            return answer
        # The retries of an activity leave no trace in history.
        longest = timedelta(seconds=self._run.max_wait_s)
        patient = ActivityConfig(**options.ADMIT, schedule_to_close_timeout=longest)
        try:
            return await step(ActivityName.ADMIT, request, AdmitResult, patient)
        except ActivityError as error:
            if error.retry_state is not RetryState.TIMEOUT:
                raise
        return await step(ActivityName.ADMIT, replace(request, patient=False), AdmitResult, options.ADMIT)

    async def _ask_gate_locally(self, request: AdmitInput) -> AdmitResult | None:
        admitting: Awaitable[AdmitResult] = workflow.execute_local_activity(
            ActivityName.ADMIT, request, result_type=AdmitResult, **options.ADMIT_LOCALLY
        )
        try:
            return await cancellable(admitting)
        except FailureError:  # a local activity's failure is not wrapped in an ActivityError
            return None

    async def _compress(self, advice: AdmitResult) -> None:
        """Compresses once a turn; a failure leaves the old summary and does not fail the turn."""
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

    async def _start_compression(self, advice: AdmitResult) -> None:
        """Starts a compression for the benefit of later calls; it continues after the agent has ended."""
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
            await cancellable(starting)
        except WorkflowAlreadyStartedError:
            workflow.logger.info("the conversation is already being compressed")

    async def _request_approval(self, short: Shortage, *, may_conclude: bool) -> None:
        """Requests an approval to extend the short scope. The gate applies a grant like any other limit."""
        request = ApprovalInput(self._agent, self.key, short.scope, workflow.info().workflow_id)
        ticket = await step(ActivityName.REQUEST_APPROVAL, request, ApprovalTicket, options.RECORD)
        state = ticket.state if ticket.state != "pending" else await self._inbox.decision(ticket)
        if state in ("denied", "expired"):
            raise AgentEnded(AgentStatus.REFUSED, state, short.scope, may_conclude=may_conclude)

    async def _sleep_before_call(self, delay_ms: int) -> None:
        if delay_ms > 0:
            factor = 1 + MAX_JITTER * workflow.random().random()
            await cancellable(workflow.sleep(timedelta(milliseconds=delay_ms * factor), summary="backpressure"))

    def _key_for(self, use: str) -> str:
        run_id = workflow.info().run_id
        return str(uuid.uuid5(_KEYS, f"{run_id}/{self._agent.agent_id}/{self.number}/{use}"))
