"""How an agent asks the gate, for calls of its model and for paid tools alike.

It waits for open holds of others, requests approvals, and sleeps out the delay of an admitted ask.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from typing import TypeVar

from temporalio import workflow
from temporalio.exceptions import ActivityError, FailureError, RetryState
from temporalio.workflow import ActivityConfig

from purser.budget.gate import Verdict
from purser.workflows import options
from purser.workflows.contract import (
    MAX_JITTER,
    ActivityName,
    AdmitInput,
    AdmitResult,
    AgentRunInput,
    ApprovalInput,
    ApprovalTicket,
    Shortage,
    ToolAsk,
    ToolCall,
    ToolHold,
)
from purser.workflows.inbox import AgentInbox
from purser.workflows.steps import cancellable, step

A = TypeVar("A", AdmitResult, ToolHold)
_ASK_AFTER_DENIAL = "ask-after-denial"


class Gate:
    """The asks of one agent."""

    def __init__(self, run: AgentRunInput, inbox: AgentInbox) -> None:
        self._run = run
        self._inbox = inbox

    async def admit(self, request: AdmitInput) -> AdmitResult:
        """Returns the answer to a call of the model: its hold, the advice to compress, or why it is not admitted."""
        return await self._approved(lambda: self.admit_unapproved(request), request.key)

    async def admit_unapproved(self, request: AdmitInput) -> AdmitResult:
        """Returns the answer to a call of the model after any wait for open holds of others."""
        answer = await self._admit_locally(request)
        if answer is not None and answer.verdict != Verdict.WAIT:
            return answer
        return await self._patiently(ActivityName.ADMIT, request, AdmitResult)

    async def hold_tool(self, call: ToolCall) -> ToolHold:
        """Returns the answer to a call of a paid tool: its hold, or why it is not admitted."""
        return await self._approved(
            lambda: self._patiently(ActivityName.HOLD_TOOL, ToolAsk(call), ToolHold), call.key, call
        )

    async def sleep_out(self, delay_ms: int) -> None:
        """Sleeps out the delay of an admitted ask."""
        if delay_ms > 0:
            factor = 1 + MAX_JITTER * workflow.random().random()
            await cancellable(workflow.sleep(timedelta(milliseconds=delay_ms * factor), summary="backpressure"))

    def paused_since(self, patch: str) -> bool:
        """Whether the task has been paused since an ask, so that its hold is given back and the gate asked again.

        No one knows how long the pause lasts.

        Args:
            patch: name of the change since which the caller checks; histories from before it replay as if not paused.
        """
        return self._inbox.paused and workflow.patched(patch)

    async def _approved(self, ask: Callable[[], Awaitable[A]], key: str, tool: ToolCall | None = None) -> A:
        """Asks, again after each approval, and once more after a denial or the deadline: the call may fit by then.

        If it does not, the shortage of the answer says that it was denied or expired.
        """
        ended: dict[str, str] = {}
        while True:
            await self._inbox.wait_while_paused()
            answer = await ask()
            if (short := answer.short) is None or answer.verdict != Verdict.ASK:
                return answer
            if short.scope not in ended:
                state = await self._request_approval(short, key, tool)
                if state not in ("denied", "expired"):
                    continue
                ended[short.scope] = state
                if workflow.patched(_ASK_AFTER_DENIAL):
                    continue
            return replace(answer, short=replace(short, reason=ended[short.scope]))

    async def _admit_locally(self, request: AdmitInput) -> AdmitResult | None:
        admitting: Awaitable[AdmitResult] = workflow.execute_local_activity(
            ActivityName.ADMIT, request, result_type=AdmitResult, **options.LOCALLY
        )
        try:
            return await cancellable(admitting)
        except FailureError:  # a local activity's failure is not wrapped in an ActivityError
            return None

    async def _patiently(self, activity: ActivityName, request: AdmitInput | ToolAsk, returns: type[A]) -> A:
        """Asks until no open hold of others is in the way, at most `max_wait`; then the mode decides."""
        # The retries of an activity leave no trace in history.
        longest = timedelta(seconds=self._run.max_wait_s)
        patient = ActivityConfig(**options.ADMIT, schedule_to_close_timeout=longest)
        try:
            return await step(activity, request, returns, patient)
        except ActivityError as error:
            if error.retry_state is not RetryState.TIMEOUT:
                raise
        return await step(activity, replace(request, patient=False), returns, options.ADMIT)

    async def _request_approval(self, short: Shortage, key: str, tool: ToolCall | None) -> str:
        """Requests an approval to extend the short scope, and returns the state in which the request ended.

        The gate applies a grant like any other limit.
        """
        request = ApprovalInput(self._run.agent, key, short.scope, workflow.info().workflow_id, tool)
        ticket = await step(ActivityName.REQUEST_APPROVAL, request, ApprovalTicket, options.RECORD)
        return ticket.state if ticket.state != "pending" else await self._inbox.decision(ticket)
