"""What of a stream is counted."""

from typing import Any

import pytest
from langchain_core.messages import AIMessageChunk

from purser_client.langchain.counted import written_in

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
