"""Calls a model under a budget with the Python client: held before, settled after.

PURSER_URL, PURSER_API_KEY: the gateway, and a key of role `agent`.
"""

import os
import sys
from typing import Any

import openai

from purser_client import NotAdmitted, Purser

# The provider of `make first`, which costs nothing; a client without arguments calls that of OpenAI.
provider = openai.OpenAI(base_url=os.environ.get("PROVIDER", "http://127.0.0.1:4010/v1"), api_key="none")
messages: Any = [{"role": "user", "content": "Say hello."}]
model = "gpt-4o-mini"

with Purser() as purser:
    try:
        with purser.call(["session:chat-2"], model=model, messages=messages, max_output_tokens=100) as call:
            reply = provider.chat.completions.create(model=model, messages=messages, max_tokens=call.start())
            settled = call.settle(reply)
        sys.stdout.write(f"{reply.choices[0].message.content} ({settled.charged.tokens} tokens)\n")
    except NotAdmitted as refused:
        sys.stdout.write(f"{refused}\n")
