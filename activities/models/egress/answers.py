"""Reading of provider answers: bounded bodies and stream lines, usage blocks with whole numbers, unstreamed replies."""

import asyncio
import json
import math
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import httpx

from purser.activities.errors import Cost, ProviderRejected, ProviderUnavailable

OnUsageRefused = Callable[[str], None]
"""Called with a code if a usage report is refused."""
DONE = (b"data: [DONE]", b"data:[DONE]")
"""Last line of a stream in the format of the OpenAI API."""
_END_S = 0.1
"""Seconds that the end of a body may take after it."""
_PIECE_BYTES = 1024
"""Approximate bytes of a stream after which other tasks run: about a dozen chunks of half a millisecond each."""


class ByteLimit:
    """Limits the bytes of one answer."""

    def __init__(self, most: int) -> None:
        self._left = most

    def take(self, chunk: bytes) -> None:
        """Counts a chunk; raises `ProviderRejected` if the answer is longer than the request allows."""
        self._left -= len(chunk)
        if self._left < 0:
            raise ProviderRejected("reply_too_large", cost=Cost.UNKNOWN)


async def first_bytes(chunks: AsyncIterator[bytes], most: int, within_s: float) -> bytes:
    """Reads the first `most` bytes of a body, or those that arrive in time if it is slow or breaks off."""
    found = bytearray()
    with suppress(TimeoutError, httpx.HTTPError):
        async with asyncio.timeout(within_s):
            async for chunk in chunks:
                found += chunk[: most - len(found)]
                if len(found) >= most:
                    break
    return bytes(found)


async def whole_body(chunks: AsyncIterator[bytes], limit: ByteLimit) -> bytes:
    """Reads a whole body."""
    found = bytearray()
    async for chunk in chunks:
        limit.take(chunk)
        found += chunk
    return bytes(found)


async def event_lines(
    chunks: AsyncIterator[bytes], limit: ByteLimit, longest: int, on_usage_refused: OnUsageRefused
) -> AsyncIterator[bytes]:
    """Yields a stream of events in whole lines, with whole numbers in usage blocks."""
    pending = bytearray()
    chunks = aiter(chunks)
    async for chunk in chunks:
        limit.take(chunk)
        end = chunk.rfind(b"\n") + 1
        pending += chunk[:end] if end else chunk
        if len(pending) > longest and len(max(pending.split(b"\n"), key=len)) > longest:
            raise ProviderRejected("reply_too_large", cost=Cost.UNKNOWN)
        if end:
            lines = bytes(pending)
            if lines.rstrip().rpartition(b"\n")[2].startswith(DONE):
                await _read_to_end(chunks)
            for piece in _pieces(_with_counts(lines, on_usage_refused)):
                yield piece
                await asyncio.sleep(0)
            pending = bytearray(chunk[end:])
    if pending:
        yield _with_counts(bytes(pending), on_usage_refused)


async def _read_to_end(chunks: AsyncIterator[bytes]) -> None:
    """Reads the end of a body after the last line: OpenAI's library stops there, and the connection would be closed."""
    with suppress(TimeoutError, httpx.HTTPError):
        async with asyncio.timeout(_END_S):
            async for _ in chunks:
                pass


def _pieces(lines: bytes) -> Iterator[bytes]:
    """Yields whole lines, few at a time: LiteLLM parses all that it receives before it lets other tasks run."""
    begin = 0
    while begin < len(lines):
        end = lines.find(b"\n", begin + _PIECE_BYTES) + 1 or len(lines)
        yield lines[begin:end]
        begin = end


def _with_counts(block: bytes, on_usage_refused: OnUsageRefused) -> bytes:
    if b"usage" not in block:
        return block
    return b"\n".join(countable(line, on_usage_refused) if b"usage" in line else line for line in block.split(b"\n"))


def countable(line: bytes, on_usage_refused: OnUsageRefused) -> bytes:
    """Returns JSON, or a line of a stream with JSON, with whole numbers in its usage blocks.

    Fractions are rounded up, so that no charge is lowered. A block with invalid counts is removed, so that the reply
    around it is not lost.
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
                on_usage_refused("not_a_count")
                del holder[name]
            else:
                holder[name] = counted
            changed = changed or counted != block
    return head + json.dumps(found).encode() if changed else line


def _counts(block: Any) -> dict[str, Any] | None:
    """Returns a usage block with whole numbers; `None` if one of its figures is not a count."""
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
    """Converts a chat completion that was not streamed into the stream that was asked for.

    Raises:
        ProviderUnavailable: the body is not a chat completion.
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
