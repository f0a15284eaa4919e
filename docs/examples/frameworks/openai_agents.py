"""Runs an agent of the OpenAI Agents SDK under a budget: every request is held before and settled after it.

PURSER_URL, PURSER_API_KEY: the gateway, and a key of role `agent`.
"""

import asyncio
import os
import sys

from agents import Agent, OpenAIProvider, RunConfig, Runner
from openai import AsyncOpenAI

from purser_client import AsyncPurser, NotAdmitted, budget_path
from purser_client.openai_agents import PurserProvider

# The provider of `make first`, which costs nothing and knows no Responses API; PurserProvider(purser) calls OpenAI.
provider = AsyncOpenAI(base_url=os.environ.get("PROVIDER", "http://127.0.0.1:4010/v1"), api_key="none", max_retries=0)
models = OpenAIProvider(openai_client=provider, use_responses=False)


async def main() -> str:
    """Run the agent once."""
    agent = Agent[None]("greeter", instructions="Be brief.", model="gpt-4o-mini")
    async with AsyncPurser() as purser:
        config = RunConfig(model_provider=PurserProvider(purser, models), tracing_disabled=True)
        try:
            with budget_path("session:chat-4"):
                result = await Runner.run(agent, "Say hello.", run_config=config)
        except NotAdmitted as refused:
            return str(refused)
    return str(result.final_output)


if __name__ == "__main__":
    sys.stdout.write(asyncio.run(main()) + "\n")
