"""LiteLLM's `BudgetManager` as its documentation uses it: compare the cost so far, call, add the cost."""

import litellm
from litellm import BudgetManager

from purser.benchmarks.limiters.load import ANSWERED, CAP, MODEL, PROMPT_TEXT, REFUSED, TOKENS, Budget, Call
from purser.benchmarks.limiters.printed import print_figures

PRICE = 1e-6
"""Dollars of each token."""


async def limited(budget: Budget) -> Call:
    """Calls under a budget."""
    price = {"input_cost_per_token": PRICE, "output_cost_per_token": PRICE, "litellm_provider": "openai"}
    litellm.register_model({MODEL: price})
    manager = BudgetManager("bench")
    # Sums of floats may stay a little below the limit, which would allow one call more.
    manager.create_budget(total_budget=(budget.calls * TOKENS - 0.5) * PRICE, user=budget.name)

    async def call() -> str:
        if manager.get_current_cost(budget.name) > manager.get_total_budget(budget.name):
            return REFUSED
        reply = await litellm.acompletion(
            model=f"openai/{MODEL}",
            messages=[{"role": "user", "content": PROMPT_TEXT}],
            max_tokens=CAP,
            api_base=budget.api_base,
            api_key="none",
        )
        manager.update_cost(user=budget.name, completion_obj=reply)
        return ANSWERED

    return call


if __name__ == "__main__":
    print_figures(limited)
