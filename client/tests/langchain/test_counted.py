"""What of a request and of a stream is counted."""

from typing import Any

import pytest
from images import ADDRESS, AROUND, BASE64, DATA, SIZED, UNSIZED, cost
from langchain.agents.middleware import ModelRequest
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessageChunk, HumanMessage, ToolMessage

from purser_client.langchain.counted import messages_of, written_in

SUMMARY = [{"type": "summary_text", "text": "hmm"}]


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"content": "hello"}, "hello"),
        ({"content": [{"type": "text", "text": "hello", "index": 0}]}, "hello"),
        ({"content": [{"type": "thinking", "thinking": "hmm", "index": 0}]}, "hmm"),
        ({"content": [{"type": "thinking", "signature": "x", "index": 0}]}, ""),
        ({"content": [{"type": "reasoning", "reasoning": "hmm"}]}, "hmm"),
        ({"content": [{"type": "reasoning", "summary": SUMMARY, "index": 0}]}, "hmm"),
        ({"content": "", "additional_kwargs": {"reasoning_content": "hmm"}}, "hmm"),
        (
            {
                "content": [{"type": "input_json_delta", "partial_json": "{}", "index": 1}],
                "tool_call_chunks": [{"name": "weather", "args": "{}", "id": None, "index": 1}],
            },
            "weather{}",
        ),
    ],
    ids=["text", "block", "Anthropic", "signature", "standard", "OpenAI", "DeepSeek", "tool"],
)
def test_all_that_a_chunk_writes_is_counted_once(fields: dict[str, Any], text: str) -> None:
    assert written_in(AIMessageChunk(**fields)) == text


@pytest.mark.parametrize("tool", [False, True], ids=["user", "tool"])
@pytest.mark.parametrize(
    ("block", "tokens"),
    [
        ({"type": "image", "base64": BASE64, "mime_type": "image/png"}, SIZED),
        ({"type": "image_url", "image_url": {"url": DATA}}, SIZED),
        ({"type": "image", "source": {"type": "base64", "data": BASE64, "media_type": "image/png"}}, SIZED),
        ({"type": "media", "data": BASE64, "mime_type": "image/png"}, SIZED),
        ({"type": "image", "url": ADDRESS}, UNSIZED),
        ({"type": "image", "source": {"type": "url", "url": ADDRESS}}, UNSIZED),
        ({"type": "image", "file_id": "file-1"}, UNSIZED),
    ],
    ids=["standard", "OpenAI", "Anthropic", "Gemini", "address", "address for Anthropic", "file"],
)
def test_an_image_costs_its_size_or_else_the_most(block: dict[str, Any], tokens: int, tool: bool) -> None:
    message = ToolMessage([block], tool_call_id="call-1") if tool else HumanMessage([block])
    request: ModelRequest[Any] = ModelRequest(model=FakeListChatModel(responses=[]), messages=[message])
    assert tokens <= cost(messages_of(request)) <= tokens + AROUND
