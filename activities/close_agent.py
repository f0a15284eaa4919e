"""The activity `close_agent`: stores an agent's outcome, closes its keys and withdraws its approval requests."""

import asyncio
from dataclasses import dataclass

from temporalio import activity

from purser.activities.postgres.agents import Agents
from purser.activities.tasks import leftovers
from purser.budget.gate import Amount
from purser.budget.holds import Report
from purser.budget.postgres.approvals.approvals import Approvals
from purser.budget.postgres.ledger.ledger import Ledger
from purser.budget.scopes import agent_scope
from purser.budget.usage import Usage
from purser.workflows.contract import WORKFLOW_ENDED, ActivityName, AgentClosing


@dataclass(frozen=True)
class CloseAgent:
    """The activity `close_agent`."""

    agents: Agents
    ledger: Ledger
    approvals: Approvals

    @activity.defn(name=ActivityName.CLOSE_AGENT)
    async def close_agent(self, closing: AgentClosing) -> None:
        """Ends an agent; repeating it changes nothing.

        Its keys are closed first: from then on a delayed `admit` cannot hold.
        """
        tenant = closing.agent.tenant
        if closing.outcome.reason == WORKFLOW_ENDED:
            # Only the workflow that is gone knew its keys.
            await leftovers.clear(self.ledger, self.approvals, tenant, closing.agent.task_id, closing.agent.agent_id)
        for key in filter(None, (closing.key, closing.compression_key, closing.last_key, *closing.tool_keys)):
            released = await self.ledger.release(tenant, key=key)
            if key in closing.unused_tool_keys and released.charged != Amount():
                # The hold of a tool starts its attempt, which is presumed to have cost something.
                await self.ledger.settle(tenant, released.hold_id, 1, Report(Usage(), 0))
        await asyncio.gather(
            *(self.approvals.withdraw(tenant, key) for key in filter(None, (closing.key, *closing.tool_keys))),
            self.agents.close(closing.agent, closing.outcome),
            self.ledger.end_scopes(tenant, [agent_scope(closing.agent.task_id, closing.agent.agent_id)]),
        )
