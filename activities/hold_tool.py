"""The activity `hold_tool`: holds the price of a paid tool call before the tool runs."""

from dataclasses import dataclass, replace

from temporalio import activity

from purser.activities.models.metrics import OnVerdict, ignore_verdict
from purser.activities.tasks.agent_context import AgentContexts
from purser.budget.errors import HoldClosed
from purser.budget.gate import Amount
from purser.budget.holds import HoldRequest
from purser.budget.labels import tool_label
from purser.budget.postgres.ledger.ledger import Ledger
from purser.workflows.contract import ActivityName, AgentRef, ToolCall, ToolHold

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
    async def hold_tool(self, call: ToolCall) -> ToolHold:
        """Holds the declared price on the agent's path and the label of the tool, and starts the only attempt.

        It neither waits for open holds nor requests approvals: without room, the model goes on without the tool.
        """
        agent_context = await self.agent_contexts.of(AgentRef(call.tenant, call.task_id, call.agent_id))
        request = HoldRequest(
            call.key,
            agent_context.path,
            Amount(0, call.nano_usd),
            lease_ms=LEASE_MS,
            patient=False,
            labels=(tool_label(call.name),),
        )
        try:
            answer = await self.ledger.hold(call.tenant, replace(request, start=True))
        except HoldClosed:  # an earlier attempt of this activity has held, and the hold has ended since
            answer = await self.ledger.hold(call.tenant, request)
        self.on_verdict(answer.gate)
        return ToolHold(answer.hold_id or "")
