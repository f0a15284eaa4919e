"""Speed of memory: importing and indexing messages, and searching sessions of several sizes."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle, islice

from purser.benchmarks.outcome import percentile_ms
from purser.benchmarks.progress import log_step
from purser.budget.postgres.connections.pools import Pool
from purser.context.conversation.messages import Message
from purser.context.postgres.conversation.conversations import Conversations
from purser.context.postgres.memory.memory import Memory

TENANT = "bench"
SIZES = (1_000, 20_000, 100_000)
TIMED = 100
"""Questions timed at each size."""
IMPORTED, MOST_IMPORT_S = 20_000, 2.0
"""An import of so many messages is found in so many seconds after it began."""
SEARCHED, MOST_P95_MS = 100_000, 20.0
"""Limit of the 95th percentile of a search in a session of so many messages."""
_APPEND = 1_000


@dataclass(frozen=True)
class Speed:
    """Times at one size."""

    messages: int
    append_s: float
    searchable_s: float
    """From the first append until a search has found the last message."""
    ms_p50: float
    ms_p95: float


async def measure(pool: Pool, said: Sequence[Message], questions: Sequence[str], size: int) -> Speed:
    """Appends `size` messages to a new session, and searches it."""
    log_step(f"{size:,} messages in one session")
    conversations, memory, session = Conversations(pool), Memory(pool), f"of-{size}"
    messages = [*islice(cycle(said), size - 1), Message("user", "The last one mentions a quokka.")]
    begun = time.perf_counter()
    for first in range(0, size, _APPEND):
        await conversations.append(TENANT, session, messages[first : first + _APPEND], origin=str(first))
    appended = time.perf_counter() - begun
    while not (await memory.search(TENANT, session, "quokka", limit=1)).found:
        pass
    searchable = time.perf_counter() - begun
    step = max(1, len(questions) // TIMED)
    seconds = []
    for question in questions[::step][:TIMED]:
        begun = time.perf_counter()
        await memory.search(TENANT, session, question, limit=25)
        seconds.append(time.perf_counter() - begun)
    p50, p95 = (percentile_ms(seconds, share) for share in (0.50, 0.95))
    return Speed(size, round(appended, 2), round(searchable, 2), p50, p95)


def slow(speeds: Sequence[Speed]) -> list[str]:
    """Limits that were missed; sizes without a limit pass."""
    found = []
    for one in speeds:
        if one.messages == IMPORTED and one.searchable_s > MOST_IMPORT_S:
            found.append(f"{IMPORTED} messages are searchable after {one.searchable_s} s, limit {MOST_IMPORT_S}")
        if one.messages == SEARCHED and one.ms_p95 > MOST_P95_MS:
            found.append(f"95 % of searches in {SEARCHED} messages take {one.ms_p95} ms, limit {MOST_P95_MS}")
    return found
