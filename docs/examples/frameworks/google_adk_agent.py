"""Runs an agent of Google's Agent Development Kit under a budget: every request is held before and settled after it.

PURSER_URL, PURSER_API_KEY: the gateway, and a key of role `agent`.
"""

import asyncio
import os
import sys

from google.adk.agents import LlmAgent
from google.adk.integrations.openai import OpenAILlm
from google.adk.runners import InMemoryRunner
from openai import AsyncOpenAI

from purser_client import AsyncPurser, NotAdmitted, budget_path
from purser_client.google_adk import PurserLlm

# The provider of `make first`, which costs nothing; PurserLlm(purser, "gemini-2.5-flash") calls that of Google.
client = AsyncOpenAI(base_url=os.environ.get("PROVIDER", "http://127.0.0.1:4010/v1"), api_key="none", max_retries=0)
model = OpenAILlm(model="gpt-4o-mini", client=client)


async def main() -> str:
    """Run the agent once."""
    async with AsyncPurser() as purser:
        agent = LlmAgent(name="greeter", model=PurserLlm(purser, model), instruction="Be brief.")
        runner = InMemoryRunner(agent=agent)
        try:
            with budget_path("session:chat-9"):
                events = await runner.run_debug("Say hello.", quiet=True)
        except NotAdmitted as refused:
            return str(refused)
    return "".join(part.text or "" for part in events[-1].content.parts)


if __name__ == "__main__":
    sys.stdout.write(asyncio.run(main()) + "\n")
