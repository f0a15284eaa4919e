"""Time to build a window of a long stored session with known token counts, and for how long it holds the event loop.

Every strategy builds the window of a session of which nothing is summarized, as `GET /v1/sessions/{id}/window` does.
Tasks plan theirs by reference. Other libraries get the same history and counts, in memory.
"""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import Random

from purser.benchmarks.compaction.product import MEMORY_TOKENS
from purser.benchmarks.outcome import percentile_ms
from purser.benchmarks.postgres import temporary_postgres
from purser.benchmarks.processor_time import processor_times
from purser.benchmarks.progress import log_step
from purser.benchmarks.windows.peers import peers
from purser.budget.postgres.connections.pools import Pool, create_pool
from purser.compose.cli.run_async import SWITCH_INTERVAL_S, freeze_heap
from purser.context.compression.summaries import Method, Summary
from purser.context.conversation.messages import Message
from purser.context.postgres.conversation.conversations import Conversations
from purser.context.postgres.conversation.placeholders import Placeholders
from purser.context.postgres.conversation.summaries import Summaries
from purser.context.postgres.memory.index import MemoryIndex
from purser.context.postgres.memory.memory import Memory
from purser.context.postgres.sessions.windows import SessionWindows, WindowRequest
from purser.context.resolution import ResolvedContext
from purser.context.settings import ContextSettings
from purser.context.strategies import WINDOW_PRESETS, StrategyName
from purser.context.tokens import count_message
from purser.context.windows import plan_window
from purser.context.windows.excerpts import Within
from purser.context.windows.plans import TextRef

MODEL, TENANT = "gpt-4o", "bench"
SIZES = (1_000, 10_000, 20_000, 100_000)
WORDS = 235
"""Words of a message: about 250 tokens."""
TEXTS = 1_000
"""Number of different messages; a session repeats them, each with its own number."""
BUDGET = ContextSettings().context_budget()
UNCOVERED = 60
"""Number of newest messages that no summary covers yet."""
RUNS = 60
SECONDS = 2.0
"""Time for the runs of one way at one size."""
SAMPLE_S = 0.001
"""Interval at which the event loop is sampled."""


@dataclass(frozen=True)
class Timing:
    """Latencies of one way to build a window."""

    way: str
    messages: int
    tokens: int
    first_ms: float
    """The first window of the session, when nothing is cached."""
    p50_ms: float
    p95_ms: float
    loop_ms: float
    """For how long the process held the event loop at most while windows were built."""
    processor_ms: float
    """Mean processor time after the first window, of this process and of Postgres, which depends less on others."""
    ours: bool
    """Whether it is a window of Purser, not of another library."""


Way = Callable[[], Awaitable[object]]


def history(count: int) -> list[Message]:
    """Alternating messages of random words, about 250 tokens each."""
    chance = Random(0)
    words = ("order", "ship", "harbour", "invoice", "May", "4711", "refund", "late", "Haven", "please", "note", "and")
    texts = [" ".join(chance.choices(words, k=WORDS)) for _ in range(min(count, TEXTS))]
    return [Message("user" if index % 2 == 0 else "assistant", texts[index % TEXTS]) for index in range(count)]


async def measure(sizes: Sequence[int] = SIZES) -> list[Timing]:
    """Measures all ways at all sizes."""
    switch_interval = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_INTERVAL_S)  # as in every process that serves
    try:
        async with temporary_postgres() as dsn, await create_pool(dsn, size=4) as pool:
            return [timing for size in sizes for timing in await _at(pool, size)]
    finally:
        sys.setswitchinterval(switch_interval)


async def _at(pool: Pool, size: int) -> list[Timing]:
    log_step(f"storing two sessions of {size:,} messages")
    messages = history(size)
    known = {
        text: count_message({"role": "user", "content": text}, MODEL).tokens for text in {m.text for m in messages}
    }
    counts = [known[message.text] for message in messages]
    tokens = sum(counts)
    compressed, fresh = f"compressed-{size}", f"fresh-{size}"
    for session in (compressed, fresh):
        await _store(pool, session, messages)
    await _summarize(pool, compressed, size, tokens)
    await MemoryIndex(pool).catch_up(TENANT, fresh, seconds=600)
    ours, theirs = _stored(pool, compressed, fresh, size), peers(messages, counts, BUDGET)
    # As in every process that serves. The history in memory is the benchmark's: collecting it stops for 0.2 s.
    freeze_heap()
    taken = dict[str, _Taken]()
    for way, call in {**ours, **theirs}.items():
        log_step(f"{size:,} messages: {way}")
        taken[way] = await _timed(call, pool)
    return [_timing(way, size, tokens, one, ours=way in ours) for way, one in taken.items()]


def _stored(pool: Pool, compressed: str, fresh: str, size: int) -> Mapping[str, Way]:
    conversations, memory = Conversations(pool), Memory(pool)
    windows = SessionWindows(pool, memory, MEMORY_TOKENS, ResolvedContext(), Placeholders(pool))

    def window(session: str, strategy: str | None, preset: str | None = None) -> Way:
        return lambda: windows.window(TENANT, session, WindowRequest(BUDGET, MODEL, strategy, preset))

    async def plan() -> None:
        settings, question = ContextSettings(), TextRef(size + 1, 40)
        within = Within(BUDGET, settings.primers)
        session, own = await asyncio.gather(
            *(conversations.conversation(TENANT, fresh, thread, model=MODEL, within=within) for thread in ("", "t/a"))
        )
        plan_window(settings, budget=BUDGET, system_tokens=0, session=session, question=question, own=own)

    return {
        "plan of a task": plan,
        "three_part, summarized": window(compressed, StrategyName.THREE_PART),
        **{name: window(fresh, name) for name in StrategyName},
        **{f"preset {name}": window(fresh, None, name) for name in WINDOW_PRESETS},
    }


@dataclass(frozen=True)
class _Taken:
    """Seconds of each call, of the holds of the event loop, and processor time of all calls but the first."""

    calls: Sequence[float]
    holds: Sequence[float]
    processor_s: float


async def _timed(call: Way, pool: Pool) -> _Taken:
    calls, before = list[float](), dict[int, float]()
    async with loop_holds() as holds:
        while len(calls) < RUNS + 1 and sum(calls[1:]) < SECONDS:
            if len(calls) == 1:
                before = await processor_times(pool)
            begun = time.perf_counter()
            await call()
            calls.append(time.perf_counter() - begun)
    used = sum(one - before.get(process, 0.0) for process, one in (await processor_times(pool)).items())
    return _Taken(calls, holds, used)


def _timing(way: str, messages: int, tokens: int, taken: _Taken, *, ours: bool) -> Timing:
    first, *others = taken.calls
    p50, p95 = (percentile_ms(others, share) for share in (0.5, 0.95))
    held = round(max(taken.holds, default=0.0) * 1_000, 2)
    processor = round(1_000 * taken.processor_s / len(others), 2)
    return Timing(way, messages, tokens, round(first * 1_000, 2), p50, p95, held, processor, ours)


@asynccontextmanager
async def loop_holds() -> AsyncIterator[list[float]]:
    """Yields a list that gets, every millisecond, for how many seconds this process held the event loop.

    The loop is also late while other processes have the cores: only the processor time that this process, all threads
    together, took meanwhile counts.
    """
    holds: list[float] = []

    async def sample() -> None:
        while True:
            begun, used = time.perf_counter(), time.process_time()
            await asyncio.sleep(SAMPLE_S)
            late, used = time.perf_counter() - begun - SAMPLE_S, time.process_time() - used
            holds.append(min(late, used))

    sampling = asyncio.create_task(sample())
    await asyncio.sleep(0)
    try:
        yield holds
    finally:
        sampling.cancel()


async def _store(pool: Pool, session: str, messages: Sequence[Message]) -> None:
    conversations = Conversations(pool)
    for first in range(0, len(messages), 1_000):
        await conversations.append(TENANT, session, messages[first : first + 1_000], origin=str(first))


async def _summarize(pool: Pool, session: str, size: int, tokens: int) -> None:
    covered = Summary(
        version=1, first_seq=4, last_seq=size - UNCOVERED, text="They spoke of orders.", method=Method.EXTRACTIVE,
        key="k", tokens_before=tokens, tokens_after=20, source_digest="d",
    )  # fmt: skip
    assert await Summaries(pool).store(TENANT, session, "", covered)
