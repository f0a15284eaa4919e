"""Runs an agent of pydantic-ai under a budget: every request is held before and settled after it.

PURSER_URL, PURSER_API_KEY: the gateway, and a key of role `agent`.
"""

import asyncio
import os
import sys

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from purser_client import AsyncPurser, NotAdmitted, budget_path
from purser_client.pydantic_ai import PurserModel

# The provider of `make first`, which costs nothing; PurserModel(purser, "openai:gpt-4o-mini") calls that of OpenAI.
provider = OpenAIProvider(base_url=os.environ.get("PROVIDER", "http://127.0.0.1:4010/v1"), api_key="none")
model = OpenAIChatModel("gpt-4o-mini", provider=provider)


async def main() -> str:
    """Run the agent once."""
    async with AsyncPurser() as purser:
        agent = Agent(PurserModel(purser, model), instructions="Be brief.")
        try:
            with budget_path("session:chat-5"):
                result = await agent.run("Say hello.")
        except NotAdmitted as refused:
            return str(refused)
    return str(result.output)


if __name__ == "__main__":
    sys.stdout.write(asyncio.run(main()) + "\n")
