"""The clients that LiteLLM uses: what they do on the event loop before a request leaves."""

import json
from importlib import import_module
from typing import Any

import pytest

from purser.activities.models.litellm_library import litellm_library
from purser.activities.models.partial_replies import PartialReply
from purser.activities.models.provider import ModelProvider, ModelRequest
from tests.support.servers.raw_server import raw_server, replies

MESSAGES = [{"role": "user", "content": "hi"}] * 3
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
REPLY = {"choices": [{"index": 0, "delta": {"content": "word"}, "finish_reason": "stop"}]}


async def test_openais_library_walks_through_no_message_and_the_provider_gets_them_as_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    litellm_library()
    completions: Any = import_module("openai.resources.chat.completions.completions")
    walk, walked = completions.async_maybe_transform, []

    async def watched(data: Any, expected_type: object) -> Any:
        walked.append(data)
        return await walk(data, expected_type)

    monkeypatch.setattr(completions, "async_maybe_transform", watched)
    options = {"functions": [{"name": "g"}], "temperature": 0.5}
    async with raw_server(replies(b"data: " + json.dumps(REPLY).encode() + b"\n\ndata: [DONE]\n\n")) as server:
        asked = ModelRequest("openai/m", MESSAGES, [TOOL], 50, "r1", server.api_base, options=options)
        await ModelProvider({}).complete(asked, partial := PartialReply())
    assert partial.message().text == "word"
    [fields] = walked
    assert not [name for name in ("messages", "tools", "functions") if fields[name]]
    [request] = server.requests
    sent = json.loads(request.partition(b"\r\n\r\n")[2])
    assert sent == {
        "model": "m", "messages": MESSAGES, "tools": [TOOL], "max_tokens": 50,
        "stream": True, "stream_options": {"include_usage": True}, **options,
    }  # fmt: skip
