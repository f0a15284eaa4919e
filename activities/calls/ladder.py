"""The steps of ladders that a call takes: a cheaper model, less output, a smaller window.

The gate names the steps that an ask reaches. A new call that has not taken them all is not admitted, refused or put
in line: it is planned again with these steps, and asks again. What it has taken is stored with it, so that an ask
repeated under its key is for the same.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from purser.activities.calls.room import CallRoom
from purser.activities.postgres.calls.calls import Call
from purser.activities.tasks.agent_context import AgentContext, AgentContexts
from purser.budget.climbs import Climb
from purser.budget.gate import GateAnswer
from purser.budget.usage import Usage

Reaches = Callable[[str, str | None], Awaitable[bool]]
"""Whether a model may be called, at the address of its agent if there is one."""


async def reachable(climb: Climb, gate: GateAnswer, reaches: Reaches, api_base: str | None) -> set[str]:
    """The models that may be called, of those that the steps beyond `climb` name."""
    names = {name for one in climb.higher(gate).values() for name in one.step.model}
    return {name for name in names if await reaches(name, api_base)}


@dataclass(frozen=True)
class CallLadder:
    """Takes steps for calls."""

    agent_contexts: AgentContexts
    room: CallRoom
    reaches: Reaches

    async def climbed(self, climb: Climb, agent_context: AgentContext, call: Call, gate: GateAnswer) -> Climb:
        """The steps that a call of an agent takes after an answer of the gate, with the models that they choose."""
        allowed = await reachable(climb, gate, self.reaches, agent_context.api_base)
        usage = Usage(input=call.prompt_tokens, output=call.ask.tokens - call.prompt_tokens)
        return climb.after(gate, usage, agent_context.model, self.room.prices, allowed)

    async def eased(self, agent_context: AgentContext, climb: Climb) -> AgentContext:
        """The agent as its call sees it on these steps."""
        if not climb.reached:
            return agent_context
        found = await self.agent_contexts.of(agent_context.ref, climb.model)
        return replace(found, output_cap=climb.output_cap(found.output_cap, self.room.least_output(found)))
