"""The choices of a streamed reply: from the wire where it has the format of the OpenAI API, else through LiteLLM.

LiteLLM copies and checks each chunk several times, which takes ten times as long as to read it.
"""

import json
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import msgspec

from purser.activities.errors import Cost, ProviderUnavailable
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
    refusal: str | None = None
    tool_calls: list[_Call] | None = None


@dataclass(frozen=True, slots=True)
class _Numbered:
    number: int
    id: str
    named: bool


class _Numbers:
    """Numbers the tool calls of a reply: some providers give all of them the same index, or none."""

    def __init__(self) -> None:
        self._latest: dict[int | None, _Numbered] = {}
        self._count = 0

    def set(self, deltas: Iterable[dict[str, Any]]) -> None:
        """Sets the index of each delta to the number of its call."""
        for delta in deltas:
            index, call_id = delta.get("index"), delta.get("id") or ""
            named = bool(delta["function"].get("name"))
            call = self._latest.get(index)
            if call is None or (named and _is_another(call, index, call_id)):
                call = self._latest[index] = _Numbered(self._count, call_id, named)
                self._count += 1
            delta["index"] = call.number


def _is_another(call: _Numbered, index: int | None, call_id: str) -> bool:
    """Whether a delta with a name begins another call. Some providers repeat name and id in every delta of a call."""
    if call_id and call.id:
        return call_id != call.id
    return call.named and index is None


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
    called, numbers = False, _Numbers()
    finish_of: Any = import_module("litellm.litellm_core_utils.core_helpers").map_finish_reason
    async for lines in response.aiter_bytes():  # whole ones: the transport sees to it
        for line in lines.splitlines():
            if not line.startswith(b"data:") or line.startswith(DONE):
                continue
            chunk = json.loads(line[5:])
            if chunk.get("error"):
                raise ProviderUnavailable("server_error", cost=Cost.UNKNOWN)
            if chunk.get("usage"):
                on_usage(chunk["usage"])
            for choice in (chunk.get("choices") or ())[:1]:
                delta = {name: value for name, value in (choice.get("delta") or {}).items() if value is not None}
                msgspec.convert(delta, _Delta)
                numbers.set(delta.get("tool_calls") or ())
                called = called or bool(delta.get("tool_calls"))
                made = {name: value for name, value in choice.items() if value is not None} | {"delta": delta}
                if finish := made.get("finish_reason"):
                    made["finish_reason"] = finish_of(finish)
                    if called and made["finish_reason"] == "stop":
                        made["finish_reason"] = "tool_calls"
                yield made


async def _through_litellm(stream: Any, on_usage: OnUsage) -> AsyncGenerator[Choice, None]:
    skip_summary(stream)
    numbers = _Numbers()
    try:
        async for chunk in stream:
            # If the provider does not say how its reply ended, LiteLLM invents a `stop`.
            stated = stream.received_finish_reason or stream.intermittent_finish_reason
            for choice in chunk.choices[:1]:
                finish = choice.finish_reason if stated else None
                made = choice.model_dump(exclude_none=True)
                numbers.set(made["delta"].get("tool_calls") or ())
                yield made | {"finish_reason": finish}
    finally:
        # If the provider reports no usage, LiteLLM counts by itself: only usage in the chunks is a report.
        for chunk in stream.chunks:
            if getattr(chunk, "usage", None) is not None:
                on_usage(chunk.usage.model_dump())
