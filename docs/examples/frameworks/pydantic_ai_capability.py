"""Runs an agent of pydantic-ai with the capability: every request is held before and settled after it.

PURSER_URL, PURSER_API_KEY: the gateway, and a key of role `agent`.
"""

import asyncio
import os
import sys

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from purser_client import AsyncPurser, NotAdmitted, budget_path
from purser_client.pydantic_ai import PurserCapability

# The provider of `make first`, which costs nothing; the name "openai:gpt-4o-mini" is a model of OpenAI.
provider = OpenAIProvider(base_url=os.environ.get("PROVIDER", "http://127.0.0.1:4010/v1"), api_key="none")
model = OpenAIChatModel("gpt-4o-mini", provider=provider)


async def main() -> str:
    """Run the agent once."""
    async with AsyncPurser() as purser:
        agent = Agent(model, instructions="Be brief.", capabilities=[PurserCapability(purser)])
        try:
            with budget_path("session:chat-13"):
                result = await agent.run("Say hello.")
        except NotAdmitted as refused:
            return str(refused)
    return str(result.output)


if __name__ == "__main__":
    sys.stdout.write(asyncio.run(main()) + "\n")
