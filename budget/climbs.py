"""The steps of ladders that one call takes before it is held: a cheaper model, less output, a smaller window.

The gate names the steps that an ask reaches. A call that has not taken them all is asked for again with them, as a
smaller ask. The calls of agents, those through the proxy, replays and benchmarks follow this one rule.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from purser.budget.gate import GateAnswer
from purser.budget.policies.ladder import LadderStep, Reached, compression, output_cap
from purser.budget.pricing.cheaper import cheaper_model
from purser.budget.pricing.price_book import PriceBook
from purser.budget.scopes import Scope
from purser.budget.usage import Usage


class StepReached(Exception):
    """A new call reaches steps that it has not taken. Whatever its ask has written is to be undone."""

    def __init__(self, gate: GateAnswer) -> None:
        super().__init__("plan the call again with the steps of its ladders")
        self.gate = gate


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

    def after(self, gate: GateAnswer, usage: Usage, model: str, prices: PriceBook, allowed: Collection[str]) -> "Climb":
        """The climb with the steps that a call has reached.

        Args:
            gate: the answer to its ask.
            usage: the most that the call may use, as it asked.
            model: the model that it has without a ladder.
            prices: prices of models.
            allowed: models that can be reached.
        """
        reached, models = self.higher(gate), dict[Scope, str]()
        money_counts = any(one.view.needs_price for one in gate.scopes)
        for scope, one in reached.items():
            names = [name for name in one.step.model if name in allowed]
            cheaper = cheaper_model(prices, model, names, usage, money_counts=money_counts)
            if cheaper != model:
                model = models[scope] = cheaper
        return Climb(reached, models)

    @property
    def model(self) -> str:
        """The model of the call; empty: the one that it has without a ladder."""
        return next(reversed(list(self.models.values())), "")

    @property
    def steps(self) -> list[LadderStep]:
        """What applies on each ladder."""
        return [one.step for one in self.reached.values()]

    @property
    def compression(self) -> Decimal:
        """Share of its context window that the call may fill."""
        return compression(self.steps)

    def output_cap(self, declared: int, least: int) -> int:
        """Most output tokens of a call that declares a cap; never below `least`, from which it is worth making."""
        return output_cap(self.steps, declared, least)

    def stored(self, declared: int, cap: int, *, compresses: bool = True) -> list[dict[str, Any]]:
        """The steps that changed something about a call.

        Args:
            declared: output cap that the call declares.
            cap: the one that it has.
            compresses: whether its window becomes smaller; if not, its messages stay as they are.
        """
        found = []
        for scope, one in self.reached.items():
            changes: dict[str, Any] = {}
            if scope in self.models:
                changes["model"] = self.models[scope]
            if one.step.output is not None and cap < declared:
                changes["output"] = cap
            if one.step.compression is not None and compresses:
                changes["compression"] = float(one.step.compression)
            if changes:
                found.append({"scope": str(scope), "step": one.number, "ratio": float(one.step.ratio)} | changes)
        return found

    def _number(self, scope: Scope) -> int:
        return self.reached[scope].number if scope in self.reached else 0


NO_STEPS = Climb()


def step_text(step: Mapping[str, Any]) -> str:
    """What a stored step changed, and whose it is: `step 2 of task:t1: model gpt-4o-mini, 500 output tokens`."""
    parts = [f"model {step['model']}"] if "model" in step else []
    parts += [f"{step['output']} output tokens"] if "output" in step else []
    parts += [f"{step['compression'] * 100:.4g} % of the window"] if "compression" in step else []
    return f"step {step['step']} of {step['scope']}: {', '.join(parts)}"
