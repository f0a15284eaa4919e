"""The choices of a streamed reply: from the wire where it has the format of the OpenAI API, else through LiteLLM.

LiteLLM copies and checks each chunk several times, which takes ten times as long as to read it.
"""

import json
from collections.abc import AsyncGenerator, Callable, Mapping
from importlib import import_module
from typing import Any

import msgspec

from purser.activities.models.egress.answers import DONE
from purser.activities.models.litellm_library import skip_summary

Choice = dict[str, Any]
"""One choice of a chunk in the format of the OpenAI API, without nulls. Its `finish_reason` is the provider's."""
OnUsage = Callable[[Mapping[str, Any]], None]
"""Called with each usage block."""


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: str | None = None


class _Call(msgspec.Struct):
    function: _Function
    index: int | None = None
    id: str | None = None


class _Delta(msgspec.Struct):
    """What of a delta becomes part of the reply."""

    content: str | None = None
    tool_calls: list[_Call] | None = None


def choices_of(stream: Any, provider: str, on_usage: OnUsage) -> AsyncGenerator[Choice, None]:
    """Yields what has arrived of a reply, whose usage blocks are reported even if it breaks off.

    Args:
        stream: the reply as LiteLLM returns it.
        provider: its name in LiteLLM.
        on_usage: called with each usage block.
    """
    wire = stream.completion_stream
    if provider == "openai" and isinstance(wire, import_module("openai").AsyncStream):
        return _from_wire(wire.response, on_usage)
    return _through_litellm(stream, on_usage)


async def _from_wire(response: Any, on_usage: OnUsage) -> AsyncGenerator[Choice, None]:
    called = False
    finish_of: Any = import_module("litellm.litellm_core_utils.core_helpers").map_finish_reason
    async for lines in response.aiter_bytes():  # whole ones: the transport sees to it
        for line in lines.splitlines():
            if not line.startswith(b"data:") or line.startswith(DONE):
                continue
            chunk = json.loads(line[5:])
            if chunk.get("error"):
                raise ValueError("the provider reports an error within its reply")
            if chunk.get("usage"):
                on_usage(chunk["usage"])
            for choice in (chunk.get("choices") or ())[:1]:
                delta = {name: value for name, value in (choice.get("delta") or {}).items() if value is not None}
                msgspec.convert(delta, _Delta)
                called = called or bool(delta.get("tool_calls"))
                made = {name: value for name, value in choice.items() if value is not None} | {"delta": delta}
                if finish := made.get("finish_reason"):
                    made["finish_reason"] = finish_of(finish)
                    if called and made["finish_reason"] == "stop":
                        made["finish_reason"] = "tool_calls"
                yield made


async def _through_litellm(stream: Any, on_usage: OnUsage) -> AsyncGenerator[Choice, None]:
    skip_summary(stream)
    try:
        async for chunk in stream:
            # If the provider does not say how its reply ended, LiteLLM invents a `stop`.
            stated = stream.received_finish_reason or stream.intermittent_finish_reason
            for choice in chunk.choices[:1]:
                finish = choice.finish_reason if stated else None
                yield choice.model_dump(exclude_none=True) | {"finish_reason": finish}
    finally:
        # If the provider reports no usage, LiteLLM counts by itself: only usage in the chunks is a report.
        for chunk in stream.chunks:
            if getattr(chunk, "usage", None) is not None:
                on_usage(chunk.usage.model_dump())
