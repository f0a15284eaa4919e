"""pydantic-ai's `UsageLimits` on one usage that all runs share. Tokens are compared after a response, not before."""

from pydantic_ai import Agent
from pydantic_ai.exceptions import UsageLimitExceeded
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.usage import RunUsage, UsageLimits

from purser.benchmarks.limiters.load import ANSWERED, CAP, MODEL, PROMPT_TEXT, REFUSED, TOKENS, Budget, Call
from purser.benchmarks.limiters.printed import print_figures


async def limited(budget: Budget) -> Call:
    """Calls under a budget."""
    provider = OpenAIProvider(base_url=budget.api_base, api_key="none")
    agent = Agent(OpenAIChatModel(MODEL, provider=provider), model_settings={"max_tokens": CAP})
    usage = RunUsage()
    limit = UsageLimits(request_limit=None, total_tokens_limit=budget.calls * TOKENS)

    async def call() -> str:
        try:
            await agent.run(PROMPT_TEXT, usage=usage, usage_limits=limit)
        except UsageLimitExceeded:
            return REFUSED
        return ANSWERED

    return call


if __name__ == "__main__":
    print_figures(limited)
