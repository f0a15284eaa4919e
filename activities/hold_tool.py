"""The activity `hold_tool`: holds the price of a paid tool call before the tool runs."""

from dataclasses import dataclass, replace

from temporalio import activity

from purser.activities.calls.shortages import shortage_of
from purser.activities.calls.waits import outlast_delay, raise_to_wait
from purser.activities.models.metrics import OnVerdict, ignore_verdict
from purser.activities.tasks.agent_context import AgentContexts
from purser.budget.errors import HoldClosed
from purser.budget.gate import Amount
from purser.budget.holds import HoldRequest
from purser.budget.labels import tool_label
from purser.budget.postgres.ledger.ledger import Ledger
from purser.workflows.contract import ActivityName, AgentRef, ToolAsk, ToolCall, ToolHold

LEASE_MS = 20 * 60_000
"""Outlasts all attempts of a tool, so that nothing has to renew it."""


@dataclass(frozen=True)
class HoldTool:
    """The activity `hold_tool`."""

    agent_contexts: AgentContexts
    ledger: Ledger
    on_verdict: OnVerdict = ignore_verdict
    """Called with every verdict."""

    @activity.defn(name=ActivityName.HOLD_TOOL)
    async def hold_tool(self, ask: ToolAsk) -> ToolHold:
        """Holds the declared price on the agent's path and the label of the tool, and starts the only attempt.

        It waits for open holds of others by retries, which leave no trace in history.
        """
        call = ask.call
        agent_context = await self.agent_contexts.of(AgentRef(call.tenant, call.task_id, call.agent_id))
        request = HoldRequest(
            call.key,
            agent_context.path,
            asked_for(call),
            lease_ms=LEASE_MS,
            patient=ask.patient,
            labels=(tool_label(call.name),),
        )
        try:
            answer = await self.ledger.hold(call.tenant, replace(request, start=True))
        except HoldClosed:  # an earlier attempt of this activity has held, and the hold has ended since
            answer = await self.ledger.hold(call.tenant, request)
        self.on_verdict(answer.gate)
        await outlast_delay(self.ledger, call.tenant, answer, LEASE_MS)
        gate = answer.gate
        short = shortage_of(gate, request.ask, answer.retry_after_ms)
        held = ToolHold(gate.verdict, answer.hold_id or "", gate.delay_ms, short)
        raise_to_wait(held)
        return held


def asked_for(call: ToolCall) -> Amount:
    """What the hold of a paid tool call covers."""
    return Amount(0, call.nano_usd)
