"""Runs an agent of LangChain under a budget: every request is held before and settled after it.

PURSER_URL, PURSER_API_KEY: the gateway, and a key of role `agent`.
"""

import asyncio
import os
import sys

from langchain.agents import create_agent
from langchain_openai import ChatOpenAI

from purser_client import AsyncPurser, NotAdmitted, budget_path
from purser_client.langchain import PurserMiddleware

# The provider of `make first`, which costs nothing; ChatOpenAI(model="gpt-4o-mini", max_retries=0) is that of OpenAI.
provider = os.environ.get("PROVIDER", "http://127.0.0.1:4010/v1")
model = ChatOpenAI(model="gpt-4o-mini", base_url=provider, api_key=lambda: "none", max_retries=0)


async def main() -> str:
    """Run the agent once."""
    said = {"messages": [{"role": "user", "content": "Say hello."}]}
    async with AsyncPurser() as purser:
        agent = create_agent(model, system_prompt="Be brief.", middleware=[PurserMiddleware(purser)])
        try:
            with budget_path("session:chat-6"):
                result = await agent.ainvoke(said)
        except NotAdmitted as refused:
            return str(refused)
    return str(result["messages"][-1].content)


if __name__ == "__main__":
    sys.stdout.write(asyncio.run(main()) + "\n")
