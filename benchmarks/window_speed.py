"""Time to build a window over a long session with stored token counts, and how it grows with the session.

Compared with LangChain's `trim_messages` on the same history, with the same counts.
"""

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from purser.benchmarks.postgres import temporary_postgres
from purser.budget.postgres.connections.pools import Pool, create_pool
from purser.context.compression.summaries import Method, Summary
from purser.context.conversation.messages import Message
from purser.context.postgres.conversation.conversations import Conversations
from purser.context.postgres.conversation.summaries import Summaries
from purser.context.settings import ContextSettings
from purser.context.strategies import StrategyName
from purser.context.tokens import count_message
from purser.context.windows import build_window, plan_window
from purser.context.windows.excerpts import Within
from purser.context.windows.plans import TextRef

MODEL, TENANT = "gpt-4o", "bench"
SIZES = (1_000, 10_000)
WORDS = 235
"""Words of a message: about 250 tokens."""
BUDGET = ContextSettings().context_budget()
UNCOVERED = 60
"""Number of newest messages that no summary covers yet."""
RUNS = 200


@dataclass(frozen=True)
class Timing:
    """Latencies of one way to build a window."""

    way: str
    messages: int
    tokens: int
    p50_ms: float
    p95_ms: float


def history(count: int) -> list[Message]:
    """Alternating messages of random words, about 250 tokens each."""
    chance = Random(count)
    words = ("order", "ship", "harbour", "invoice", "May", "4711", "refund", "late", "Haven", "please", "note", "and")
    texts = (" ".join(chance.choices(words, k=WORDS)) for _ in range(count))
    return [Message("user" if index % 2 == 0 else "assistant", text) for index, text in enumerate(texts)]


async def measure() -> list[Timing]:
    """Measures all ways at all sizes."""
    async with temporary_postgres() as dsn, await create_pool(dsn, size=4) as pool:
        return [timing for size in SIZES for timing in await _at(pool, size)]


async def _at(pool: Pool, size: int) -> list[Timing]:
    messages = history(size)
    counts = [count_message(message.to_openai(), MODEL).tokens for message in messages]
    tokens = sum(counts)
    compressed, fresh = f"compressed-{size}", f"fresh-{size}"
    for session in (compressed, fresh):
        await _store(pool, session, messages)
    await _summarize(pool, compressed, size, tokens)
    conversations = Conversations(pool)

    def live(session: str, strategy: StrategyName) -> Callable[[], Awaitable[None]]:
        async def plan() -> None:
            settings, question = ContextSettings(strategy=strategy), TextRef(size + 1, 40)
            loaded = [
                await conversations.conversation(
                    TENANT, session, thread, model=MODEL, within=Within(BUDGET, settings.primers)
                )
                for thread in ("", "t/a")
            ]
            plan_window(settings, budget=BUDGET, system_tokens=0, session=loaded[0], question=question, own=loaded[1])

        return plan

    async def in_memory() -> None:
        build_window(messages, budget=BUDGET, model=MODEL, strategy="token_truncation", counts=counts)

    trim = _langchain(messages, counts)

    async def langchain() -> None:
        trim()

    ways = {
        "stored, summary of all but the newest": live(compressed, StrategyName.THREE_PART),
        "stored, nothing summarised": live(fresh, StrategyName.THREE_PART),
        "stored, token_truncation": live(fresh, StrategyName.TOKEN_TRUNCATION),
        "in memory, token_truncation": in_memory,
        "LangChain trim_messages, in memory": langchain,
    }
    return [Timing(way, size, tokens, *await _timed(call)) for way, call in ways.items()]


async def _timed(call: Callable[[], Awaitable[None]]) -> tuple[float, float]:
    """Median and 95th percentile in milliseconds; fewer runs if they take long."""
    took: list[float] = []
    while len(took) < RUNS and sum(took) < 10:
        begun = time.perf_counter()
        await call()
        took.append(time.perf_counter() - begun)
    ordered = sorted(took)
    return tuple(round(ordered[int(len(ordered) * share)] * 1_000, 2) for share in (0.5, 0.95))  # type: ignore[return-value] # two


def _langchain(messages: Sequence[Message], counts: Sequence[int]) -> Callable[[], Any]:
    from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, trim_messages

    kinds: dict[str, type[BaseMessage]] = {"user": HumanMessage, "assistant": AIMessage}
    theirs = [kinds[message.role](message.text, id=str(index)) for index, message in enumerate(messages)]

    def known(given: list[BaseMessage]) -> int:
        return sum(counts[int(message.id or 0)] for message in given)

    return lambda: trim_messages(theirs, max_tokens=BUDGET, strategy="last", token_counter=known, start_on="human")


async def _store(pool: Pool, session: str, messages: Sequence[Message]) -> None:
    conversations = Conversations(pool)
    for first in range(0, len(messages), 500):
        await conversations.append(TENANT, session, messages[first : first + 500], origin=str(first))


async def _summarize(pool: Pool, session: str, size: int, tokens: int) -> None:
    covered = Summary(
        version=1, first_seq=4, last_seq=size - UNCOVERED, text="They spoke of orders.", method=Method.EXTRACTIVE,
        key="k", tokens_before=tokens, tokens_after=20, source_digest="d",
    )  # fmt: skip
    assert await Summaries(pool).store(TENANT, session, "", covered)
