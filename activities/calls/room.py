"""The tokens that budgets leave for the input of a call. Only windows are cut to them: the gate decides what fits."""

from dataclasses import dataclass, replace

from purser.activities.calls.closing import budget_line
from purser.activities.runtime.settings import ActivitySettings
from purser.activities.tasks.agent_context import AgentContext
from purser.budget.gate import ScopeView, room
from purser.budget.postgres.ledger.policies import Policies
from purser.budget.previews import as_view
from purser.budget.pricing.call_prices import quote
from purser.budget.pricing.price_book import PriceBook
from purser.budget.reports.views import BudgetView
from purser.budget.scopes import Kind
from purser.budget.usage import Usage

_SAMPLE = 1_000_000
"""Input tokens whose price is asked for: prices are stated for a million."""


@dataclass(frozen=True)
class CallRoom:
    """What budgets leave for calls."""

    policies: Policies
    prices: PriceBook
    settings: ActivitySettings

    async def left(self, agent_context: AgentContext, budget: BudgetView, *, last: bool) -> int | None:
        """Returns counted tokens for the messages of a call; `None` if no budget bounds them.

        Args:
            agent_context: the agent.
            budget: its own budget.
            last: whether it is the agent's last call, which also has to fit into the reserve of its task and in money.
                Other calls are cut to the tokens of their own agent alone.
        """
        views = await self._reserving(agent_context) if last else [as_view(budget)]
        output = self.least_output(agent_context)
        bounds = [
            bound
            for view in views
            if view.bounded
            for bound in bounds_of(self.prices, agent_context.model, view, output, last=last)
        ]
        if not bounds:
            return None
        most = min(bounds) - output
        return max(0, agent_context.calibration.room(most) - agent_context.system_tokens)

    async def _reserving(self, agent_context: AgentContext) -> list[ScopeView]:
        """The agent's scopes that may reserve a part for its last call."""
        last_of = {
            scope: number
            for scope, number in zip(agent_context.path.scopes, agent_context.last_of, strict=True)
            if number
        }
        ref = agent_context.ref
        budgets = await self.policies.budgets_of(ref.tenant, list(last_of), ref.task_id)
        return [replace(as_view(one), last_of=last_of[one.scope]) for one in budgets]

    async def line(self, agent_context: AgentContext) -> str:
        """Returns the line that tells the model what is left for its agent and its task; empty if it is not wished."""
        if not agent_context.budget_line:
            return ""
        path = agent_context.path.scopes
        own = [path[-1], *(scope for scope in path if scope.kind is Kind.TASK)]
        budgets = await self.policies.budgets_of(agent_context.ref.tenant, own, agent_context.ref.task_id)
        return budget_line([as_view(one) for one in budgets if not one.policy.shadow])

    def least_output(self, agent_context: AgentContext) -> int:
        """Least output tokens for which a call of the agent is admitted."""
        return min(self.settings.min_output_tokens, agent_context.output_cap)


def bounds_of(prices: PriceBook, model: str, view: ScopeView, output: int, *, last: bool) -> list[int]:
    """Tokens of a model, input and least output, that a scope leaves; no item: it sets no bound.

    Args:
        prices: prices of models.
        model: the model of the call.
        view: the scope.
        output: least output of the call.
        last: whether it is an agent's last call, which has to fit in money, too.
    """
    tokens, nano = room(view)
    bounds = [] if tokens is None else [tokens]
    if last and nano is not None:
        least, sample = (
            quote(prices, model, usage, usage).full.nano_usd for usage in (Usage(output=output), Usage(input=_SAMPLE))
        )
        if sample:
            bounds.append(output + (nano - least) * _SAMPLE // sample)
    return bounds
