"""What a provider's answer is made of: lines of bounded length, usage that can be counted, replies that come in one."""

import asyncio
import json
import math
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any

from purser.activities.errors import Cost, ProviderRejected, ProviderUnavailable

Notice = Callable[[str], None]
"""Takes a code: why usage was not believed."""
_PIECE = 1024
"""Bytes of a stream, about, after which others get their turn: a dozen chunks, each of which takes half a
millisecond."""


class Allowance:
    """Bytes that an answer may have."""

    def __init__(self, most: int) -> None:
        self._left = most

    def take(self, chunk: bytes) -> None:
        """Raises `ProviderRejected`: the answer is longer than what was asked for."""
        self._left -= len(chunk)
        if self._left < 0:
            raise ProviderRejected("reply_too_large", cost=Cost.UNKNOWN)


async def first_bytes(chunks: AsyncIterator[bytes], most: int) -> bytes:
    """The beginning of a body; the rest is not read."""
    found = bytearray()
    async for chunk in chunks:
        found += chunk[: most - len(found)]
        if len(found) >= most:
            break
    return bytes(found)


async def whole(chunks: AsyncIterator[bytes], allowance: Allowance) -> bytes:
    """A whole body."""
    found = bytearray()
    async for chunk in chunks:
        allowance.take(chunk)
        found += chunk
    return bytes(found)


async def event_lines(
    chunks: AsyncIterator[bytes], allowance: Allowance, longest: int, notice: Notice
) -> AsyncIterator[bytes]:
    """A stream of events in whole lines, with usage that can be counted."""
    pending = bytearray()
    async for chunk in chunks:
        allowance.take(chunk)
        end = chunk.rfind(b"\n") + 1
        pending += chunk[:end] if end else chunk
        if len(pending) > longest and len(max(pending.split(b"\n"), key=len)) > longest:
            raise ProviderRejected("reply_too_large", cost=Cost.UNKNOWN)
        if end:
            for piece in _pieces(_with_counts(bytes(pending), notice)):
                yield piece
                await asyncio.sleep(0)
            pending = bytearray(chunk[end:])
    if pending:
        yield _with_counts(bytes(pending), notice)


def _pieces(lines: bytes) -> Iterator[bytes]:
    """Whole lines, few at a time: LiteLLM takes in all that it is given before it lets others run."""
    begin = 0
    while begin < len(lines):
        end = lines.find(b"\n", begin + _PIECE) + 1 or len(lines)
        yield lines[begin:end]
        begin = end


def _with_counts(block: bytes, notice: Notice) -> bytes:
    if b"usage" not in block:
        return block
    return b"\n".join(countable(line, notice) if b"usage" in line else line for line in block.split(b"\n"))


def countable(line: bytes, notice: Notice) -> bytes:
    """JSON, or a line of a stream with JSON, whose usage blocks hold counts.

    Fractions are rounded up: a charge is never lowered. A block that holds no counts is left out, so that the reply
    around it is not lost with it.
    """
    head, body = (b"data: ", line[5:]) if line.startswith(b"data:") else (b"", line)
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return line
    if not isinstance(found, dict):
        return line
    changed = False
    holders = [each for each in (found, found.get("message"), found.get("response")) if isinstance(each, dict)]
    for holder in holders:
        for name in ("usage", "usageMetadata"):
            block = holder.get(name)
            if block is None:
                continue
            counted = _counts(block)
            if counted is None:
                notice("not_a_count")
                del holder[name]
            else:
                holder[name] = counted
            changed = changed or counted != block
    return head + json.dumps(found).encode() if changed else line


def _counts(block: Any) -> dict[str, Any] | None:
    """A usage block with whole numbers; `None` if one of its figures is no count."""
    if not isinstance(block, dict):
        return None
    found: dict[str, Any] = {}
    for name, value in block.items():
        counts_tokens = name.lower().endswith(("tokens", "tokencount"))
        if isinstance(value, dict):
            value = _counts(value)
            if value is None:
                return None
        elif isinstance(value, float) and not math.isfinite(value):
            return None
        elif counts_tokens and value is not None:
            if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
                return None
            value = math.ceil(value)
        found[name] = value
    return found


def as_stream(body: bytes) -> bytes:
    """A chat completion that came in one piece, as the stream that was asked for.

    Raises:
        ProviderUnavailable: it is no chat completion.
    """
    try:
        found = json.loads(body)
        choice = found["choices"][0]
        delta = _delta(choice["message"])
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise ProviderUnavailable("unreadable_reply", cost=Cost.UNKNOWN) from None
    about = {"id": found.get("id", ""), "object": "chat.completion.chunk"}
    about |= {"created": found.get("created", 0), "model": found.get("model", "")}
    chunks = [about | {"choices": [{"index": 0, "delta": delta, "finish_reason": choice.get("finish_reason")}]}]
    if found.get("usage") is not None:
        chunks.append(about | {"choices": [], "usage": found["usage"]})
    return b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks) + b"data: [DONE]\n\n"


def _delta(message: Mapping[str, Any]) -> dict[str, Any]:
    calls = [{"index": place, **call} for place, call in enumerate(message.get("tool_calls") or ())]
    return {**message, "tool_calls": calls} if calls else dict(message)
