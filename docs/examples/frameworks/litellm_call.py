"""Calls a model by LiteLLM under a budget: every request is held before and settled after it.

PURSER_URL, PURSER_API_KEY: the gateway, and a key of role `agent`.
"""

import asyncio
import os
import sys

import litellm

from purser_client import AsyncPurser, NotAdmitted, budget_path
from purser_client.litellm import PurserLogger

# The provider of `make first`, which costs nothing; without the last two LiteLLM calls that of the model.
provider = os.environ.get("PROVIDER", "http://127.0.0.1:4010/v1")
model = {"model": "openai/gpt-4o-mini", "api_base": provider, "api_key": "none"}


async def main() -> str:
    """Call the model once."""
    said = [{"role": "user", "content": "Say hello."}]
    async with AsyncPurser() as purser:
        litellm.callbacks = [PurserLogger(purser)]
        try:
            with budget_path("session:chat-7"):
                reply = await litellm.acompletion(messages=said, **model)
        except NotAdmitted as refused:
            return str(refused)
    return str(reply.choices[0].message.content)


if __name__ == "__main__":
    sys.stdout.write(asyncio.run(main()) + "\n")
