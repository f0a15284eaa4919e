"""The steps of ladders that a call takes: a cheaper model, less output, a smaller window.

The gate names the steps that an ask reaches. A new call that has not taken them all is not admitted, refused or put
in line: it is planned again with these steps, and asks again. What it has taken is stored with it, so that an ask
repeated under its key is for the same.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from purser.activities.calls.room import CallRoom
from purser.activities.postgres.calls import Call
from purser.activities.tasks.agent_context import AgentContext, AgentContexts
from purser.budget.gate import GateAnswer
from purser.budget.policies.ladder import LadderStep, Reached, compression, output_cap
from purser.budget.pricing.cheaper import cheaper_model
from purser.budget.pricing.price_book import PriceBook
from purser.budget.scopes import Scope
from purser.budget.usage import Usage

Reaches = Callable[[str, str | None], Awaitable[bool]]
"""Whether a model may be called, at the address of its agent if there is one."""


class StepReached(Exception):
    """A new call reaches steps that it has not taken. Whatever its ask has written is to be undone."""

    def __init__(self, gate: GateAnswer) -> None:
        super().__init__("plan the call again with the steps of its ladders")
        self.gate = gate


async def any_model(model: str, api_base: str | None) -> bool:
    """Allows every model."""
    return True


@dataclass(frozen=True)
class Climb:
    """The steps that a call has taken so far."""

    reached: Mapping[Scope, Reached] = field(default_factory=dict)
    """By scope, outermost first. None is ever taken back."""
    models: Mapping[Scope, str] = field(default_factory=dict)
    """The cheaper models that the lists of scopes have named, in turn."""

    def lacks(self, gate: GateAnswer) -> bool:
        """Whether an ask has reached a step beyond those taken."""
        return any(one.number > self._number(scope) for scope, one in gate.ladder.items())

    def higher(self, gate: GateAnswer) -> dict[Scope, Reached]:
        """The steps taken, and those that an ask has reached."""
        found = {scope: one for scope, one in gate.ladder.items() if one.number > self._number(scope)}
        taken = {**self.reached, **found}
        on_path = [one.scope for one in gate.scopes if one.scope in taken]
        return {scope: taken[scope] for scope in dict.fromkeys((*on_path, *taken))}

    def after(self, gate: GateAnswer, call: Call, model: str, prices: PriceBook, allowed: Collection[str]) -> "Climb":
        """The climb with the steps that a call has reached.

        Args:
            gate: the answer to its ask.
            call: the call as it asked.
            model: the model of its agent.
            prices: prices of models.
            allowed: models that can be reached.
        """
        reached, models = self.higher(gate), dict[Scope, str]()
        money_counts = any(one.view.needs_price for one in gate.scopes)
        usage = Usage(input=call.prompt_tokens, output=call.ask.tokens - call.prompt_tokens)
        for scope, one in reached.items():
            names = [name for name in one.step.model if name in allowed]
            cheaper = cheaper_model(prices, model, names, usage, money_counts=money_counts)
            if cheaper != model:
                model = models[scope] = cheaper
        return Climb(reached, models)

    @property
    def model(self) -> str:
        """The model of the call; empty: that of its agent."""
        return next(reversed(list(self.models.values())), "")

    @property
    def steps(self) -> list[LadderStep]:
        """What applies on each ladder."""
        return [one.step for one in self.reached.values()]

    @property
    def compression(self) -> Decimal:
        """Share of its context window that the call may fill."""
        return compression(self.steps)

    def stored(self, declared: int, cap: int) -> list[dict[str, Any]]:
        """The steps that changed something about a call whose agent declares one output cap and that has another."""
        found = []
        for scope, one in self.reached.items():
            changes: dict[str, Any] = {}
            if scope in self.models:
                changes["model"] = self.models[scope]
            if one.step.output is not None and cap < declared:
                changes["output"] = cap
            if one.step.compression is not None:
                changes["compression"] = float(one.step.compression)
            if changes:
                found.append({"scope": str(scope), "step": one.number, "ratio": float(one.step.ratio)} | changes)
        return found

    def _number(self, scope: Scope) -> int:
        return self.reached[scope].number if scope in self.reached else 0


NO_STEPS = Climb()


@dataclass(frozen=True)
class CallLadder:
    """Takes steps for calls."""

    agent_contexts: AgentContexts
    room: CallRoom
    reaches: Reaches = any_model

    async def climbed(self, climb: Climb, agent_context: AgentContext, call: Call, gate: GateAnswer) -> Climb:
        """The steps that a call of an agent takes after an answer of the gate, with the models that they choose."""
        names = {name for one in climb.higher(gate).values() for name in one.step.model}
        allowed = {name for name in names if await self.reaches(name, agent_context.api_base)}
        return climb.after(gate, call, agent_context.model, self.room.prices, allowed)

    async def eased(self, agent_context: AgentContext, climb: Climb) -> AgentContext:
        """The agent as its call sees it on these steps."""
        if not climb.reached:
            return agent_context
        found = await self.agent_contexts.of(agent_context.ref, climb.model)
        return replace(found, output_cap=output_cap(climb.steps, found.output_cap, self.room.least_output(found)))
