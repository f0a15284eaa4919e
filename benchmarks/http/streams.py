"""Many open streams of `GET /v1/events` in a separate process, each of which must receive every event."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

import aiohttp
import uvloop

from purser.benchmarks.http.mix import Target
from purser.benchmarks.outcome import percentile_ms

TIMEOUT_S = 30
"""Until every stream is open, and at the end until the last event arrives."""
OPENING = 50
"""Streams that are opened concurrently."""


@dataclass
class Seen:
    """The events that one stream received."""

    positions: list[int] = field(default_factory=list)
    at: list[float] = field(default_factory=list)
    """Time of arrival of each, in seconds since the epoch."""
    broken: str = ""
    """Why the stream ended early."""


@dataclass(frozen=True)
class Compared:
    """All streams, compared with the events that occurred."""

    streams: int
    events: int
    """Events that every stream must receive."""
    lost: int
    doubled: int
    disordered: int
    """Streams that received events in another order."""
    broken: dict[str, int]
    """Streams that ended early, by reason."""
    late_p50_ms: float
    late_p99_ms: float
    """From the change to its arrival in a stream."""

    @property
    def complete(self) -> bool:
        """Whether every stream received every event once and in order."""
        return not (self.lost or self.doubled or self.disordered or self.broken)


def compare(seen: Sequence[Seen], expected: Sequence[tuple[int, float]]) -> Compared:
    """Compares what the streams received with what they should have received.

    Args:
        seen: one entry per stream.
        expected: position and time of every event, in order.
    """
    moments = dict(expected)
    lost = doubled = disordered = 0
    late: list[float] = []
    broken: dict[str, int] = {}
    for one in seen:
        ours = [position for position in one.positions if position in moments]
        lost += len(moments) - len(set(ours))
        doubled += len(ours) - len(set(ours))
        disordered += ours != sorted(ours)
        late += [
            at - moments[position] for position, at in zip(one.positions, one.at, strict=True) if position in moments
        ]
        if one.broken:
            broken[one.broken] = broken.get(one.broken, 0) + 1
    p50, p99 = (percentile_ms(late, share) if late else 0.0 for share in (0.50, 0.99))
    return Compared(len(seen), len(moments), lost, doubled, disordered, broken, p50, p99)


def listen(target: Target, count: int, parent: "Connection[Any, int]") -> None:
    """Entry point of the process of the streams.

    It sends "open" when all streams are, waits for the last position, sends what the streams received, and ends.
    """
    uvloop.run(_listen(target, count, parent))


async def _listen(target: Target, count: int, parent: "Connection[Any, int]") -> None:
    opening, seen = asyncio.Semaphore(OPENING), [Seen() for _ in range(count)]
    opened = [asyncio.Event() for _ in range(count)]
    async with aiohttp.ClientSession(
        target.url,
        connector=aiohttp.TCPConnector(limit=0),
        headers={"Authorization": f"Bearer {target.key}"},
        timeout=aiohttp.ClientTimeout(total=None),
        read_bufsize=2**14,
    ) as http:
        reading = [
            asyncio.create_task(_read(http, one, is_open, opening)) for one, is_open in zip(seen, opened, strict=True)
        ]
        await asyncio.wait_for(asyncio.gather(*(is_open.wait() for is_open in opened)), TIMEOUT_S)
        parent.send("open")
        last: int = await asyncio.to_thread(parent.recv)
        await _until(lambda: all(one.broken or _has(one, last) for one in seen))
        for task in reading:
            task.cancel()
        await asyncio.gather(*reading, return_exceptions=True)
    parent.send(seen)


async def _read(http: aiohttp.ClientSession, seen: Seen, is_open: asyncio.Event, opening: asyncio.Semaphore) -> None:
    try:
        await opening.acquire()
        async with http.get("/v1/events") as response:
            opening.release()
            is_open.set()
            if response.status != 200:
                seen.broken = f"status {response.status}"
                return
            async for line in response.content:
                if line.startswith(b"id:"):
                    seen.positions.append(int(line[3:]))
                    seen.at.append(time.time())
        seen.broken = "ended"
    except (aiohttp.ClientError, OSError) as error:
        is_open.set()
        seen.broken = type(error).__name__


async def _until(met: Callable[[], bool]) -> None:
    give_up = time.monotonic() + TIMEOUT_S
    while time.monotonic() < give_up and not met():  # noqa: ASYNC110 # an asyncio.Event per stream would slow all of them
        await asyncio.sleep(0.05)


def _has(seen: Seen, position: int) -> bool:
    return bool(seen.positions) and seen.positions[-1] >= position
