"""One turn of an agent: admit, compress if necessary, wait out backpressure, call the model.

The turn waits for a compression only if its window would have to leave something out. Past the soft mark the
compression runs in parallel with the call.

A step that cannot continue ends the agent by raising `AgentEnded`.
"""

import uuid

from temporalio import workflow
from temporalio.exceptions import ActivityError, WorkflowAlreadyStartedError
from temporalio.workflow import ChildWorkflowCancellationType, ParentClosePolicy

from purser.budget.gate import Verdict
from purser.workflows import options
from purser.workflows.contract import (
    ActivityName,
    AdmitInput,
    AdmitResult,
    AgentRunInput,
    AgentStatus,
    CallInput,
    CallResult,
    CallStatus,
    CompressInput,
    CompressResult,
    CompressSessionInput,
    Plan,
    Trigger,
    WorkflowName,
)
from purser.workflows.gate import Gate
from purser.workflows.inbox import AgentInbox
from purser.workflows.steps import cancellable, release, step

_KEYS = uuid.UUID("6d0c2b5e-0f3b-5d52-9b1e-7f0a4be1c9a4")
_PAUSE_BEFORE_CALL = "pause-before-call"
_PAUSE_BEFORE_LAST_CALL = "pause-before-last-call"


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

    def __init__(self, run: AgentRunInput, number: int, inbox: AgentInbox, gate: Gate) -> None:
        self._run = run
        self._agent = run.agent
        self.number = number
        self._inbox = inbox
        self._gate = gate
        self._admission = 1
        self._compressed = False
        self._last_admission = 0

    @property
    def key(self) -> str:
        """The key of the hold of the current admission.

        It is derived from ids alone: a local activity commits before its workflow task is in history, so a rerun of
        this code must arrive at the same key.
        """
        return self._key_for(str(self._admission))

    @property
    def compression_key(self) -> str:
        """The key of the hold of this turn's compression; empty until it compresses."""
        return self._key_for("compression") if self._compressed else ""

    @property
    def last_key(self) -> str:
        """The key of the hold of the agent's last call; empty until it is asked for."""
        if not self._last_admission:
            return ""
        return self._key_for("last" if self._last_admission == 1 else f"last/{self._last_admission}")

    async def take(self) -> CallResult:
        """Takes the turn and returns the model's stored reply.

        Raises:
            AgentEnded: the budget refused, an approver denied, or the provider rejected the call.
        """
        while True:
            admitted = await self._admit()
            await self._gate.sleep_out(admitted.delay_ms)
            if self._gate.paused_since(_PAUSE_BEFORE_CALL):
                await cancellable(release(self._agent.tenant, self.key))
                self._admission += 1
                continue
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
        try:
            while True:
                await self._inbox.wait_while_paused()
                self._last_admission += 1
                last = AdmitInput(self._agent, self.last_key, self.number, may_compress=False, last=True)
                admitted = await self._gate.admit_unapproved(last)
                if not Verdict(admitted.verdict).admits:
                    return False
                if not self._gate.paused_since(_PAUSE_BEFORE_LAST_CALL):
                    break
                await cancellable(release(self._agent.tenant, self.last_key))
            call = CallInput(self._agent, self.last_key, admitted.hold_id, self.number)
            reply = await step(ActivityName.CALL_MODEL, call, CallResult, options.CALL_MODEL)
        except ActivityError:
            workflow.logger.warning("the last call failed")
            return False
        return reply.status is CallStatus.REPLIED and not reply.tools

    async def _admit(self) -> AdmitResult:
        while True:
            request = AdmitInput(self._agent, self.key, self.number, may_compress=not self._compressed)
            answer = await self._gate.admit(request)
            if answer.plan is Plan.COMPRESS:
                await self._compress(answer)
                continue
            if (short := answer.short) is not None:
                raise AgentEnded(AgentStatus.REFUSED, short.reason, short.scope, may_conclude=answer.may_conclude)
            await self._start_compression(answer)
            return answer

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

    def _key_for(self, use: str) -> str:
        run_id = workflow.info().run_id
        return str(uuid.uuid5(_KEYS, f"{run_id}/{self._agent.agent_id}/{self.number}/{use}"))
