"""The first model call of a process imports little, because imports stop its event loop."""

import json
import subprocess
import sys

import pytest

SCRIPT = """
import asyncio, json, sys
from purser.activities.models.litellm_library import litellm_library
from purser.activities.models.partial_replies import PartialReply
from purser.activities.models.provider import ModelProvider, ModelRequest
from tests.support.servers.raw_server import raw_server, replies

CHUNK = {"choices": [{"index": 0, "delta": {"content": "word"}, "finish_reason": "stop"}]}

async def main():
    async with raw_server(replies(b"data: " + json.dumps(CHUNK).encode() + b"\\n\\ndata: [DONE]\\n\\n")) as server:
        messages = [{"role": "user", "content": "Hello."}]
        request = ModelRequest("openai/gpt-4o", messages, (), 50, "r1", api_base=server.api_base)
        await ModelProvider({}).complete(request, partial := PartialReply())
        return partial.characters

litellm_library()
before = set(sys.modules)
characters = asyncio.run(main())
new = [name for name in set(sys.modules) - before if name.startswith(("openai.", "litellm."))]
print(json.dumps([characters, sorted(new)]))
"""


@pytest.mark.stack
def test_the_first_call_imports_few_modules_of_its_libraries() -> None:
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", SCRIPT], capture_output=True, text=True, check=True)
    characters, new = json.loads(done.stdout.splitlines()[-1])
    assert characters == len("word")
    assert len(new) < 50, new
