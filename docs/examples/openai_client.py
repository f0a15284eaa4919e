"""Calls a model through Purser with OpenAI's own client: address and key are Purser's, the code stays.

PURSER_URL, PURSER_API_KEY: the gateway, and a key of role `agent`.
"""

import os
import sys

import openai

client = openai.OpenAI(
    base_url=f"{os.environ['PURSER_URL']}/openai/v1",
    api_key=os.environ["PURSER_API_KEY"],
    default_headers={
        "Purser-Session": "chat-1",
        # The provider of `make first`, which costs nothing; leave it out to call the provider of the model.
        "Purser-Api-Base": os.environ.get("PROVIDER", "http://127.0.0.1:4010/v1"),
    },
)

try:
    reply = client.chat.completions.create(
        model="gpt-4o-mini", messages=[{"role": "user", "content": "Say hello."}], max_tokens=100
    )
    sys.stdout.write(f"{reply.choices[0].message.content}\n")
except openai.APIStatusError as refused:
    sys.stdout.write(f"{refused.status_code} {refused.message}\n")
