"""The load on every way to limit model calls: first with room for all calls, then with room for a fifth of them.

Peers run this in environments of their own, so it imports the standard library and this package's closed loops only.
"""

import asyncio
import json
import urllib.request
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass

from purser.benchmarks.closed_loops import call_in_loops

CALLERS = 50
CALLS = 10
"""Calls of each caller on the tight budget."""
TIGHT = 100
"""Calls that the tight budget has room for."""
ANSWERED, REFUSED = "answered", "refused"
MODEL = "gpt-4o"
PROMPT_TEXT = "hello"
PROMPT, REPLY = 8, 20
"""Tokens of every call, as `MODEL` counts them and as the provider reports them."""
TOKENS = PROMPT + REPLY
CAP = REPLY
"""Most output tokens of a call: a hold of the whole cap is what the call uses, so each way fits as many calls."""

Call = Callable[[], Awaitable[str]]
"""Makes one call under a budget: answered or refused."""


@dataclass(frozen=True)
class Budget:
    """A budget to be made, and where its calls go."""

    name: str
    calls: int
    """That it has room for."""
    api_base: str


Budgets = Callable[[Budget], Awaitable[Call]]
"""Makes a budget, and returns how to call under it."""


def budgets(provider: str) -> tuple[Budget, Budget]:
    """One with room for every call, whose calls take no time; and a tight one, whose calls take a tenth of a second."""
    return Budget("plenty", 10**9, f"{provider}/v1"), Budget("tight", TIGHT, f"{provider}/slow/v1")


@dataclass(frozen=True, kw_only=True)
class Overload:
    """What callers on the tight budget saw."""

    answered: int
    refused: int
    served: int
    """Calls that reached the provider, also those whose reply was then thrown away."""

    @property
    def overspent(self) -> int:
        """Calls beyond the budget."""
        return max(0, self.served - TIGHT)


@dataclass(frozen=True, kw_only=True)
class Loaded(Overload):
    """What callers on one budget saw, first with room and then on the tight budget."""

    calls_per_s: float
    """With room for every call."""
    p50_ms: float
    p99_ms: float
    wrong: int
    """Calls with room that were refused."""


async def load(make: Budgets, provider: str, seconds: float) -> Loaded:
    """Lets 50 callers call for some seconds with room, then several times each on a budget that is too small.

    Args:
        make: makes the budgets.
        provider: its address.
        seconds: of the calls with room.
    """
    plenty, _ = budgets(provider)
    call = await make(plenty)
    await asyncio.gather(*(call() for _ in range(CALLERS)))
    measured = await call_in_loops(call, callers=CALLERS, seconds=seconds)
    tight = await overload(make, provider)
    return Loaded(
        calls_per_s=round(measured.rate, 1),
        p50_ms=measured.p50_ms(),
        p99_ms=measured.p99_ms(),
        wrong=measured.answers[REFUSED],
        **asdict(tight),
    )


async def overload(make: Budgets, provider: str) -> Overload:
    """Lets 50 callers call several times each on the tight budget."""
    _, tight = budgets(provider)
    call = await make(tight)
    before = await served(provider)
    found = await _call_often(call)
    return Overload(answered=found[ANSWERED], refused=found[REFUSED], served=await served(provider) - before)


async def served(provider: str) -> int:
    """Calls that the provider has answered so far."""

    def read() -> int:
        with urllib.request.urlopen(f"{provider}/served") as answer:
            return int(json.load(answer)["calls"])

    return await asyncio.to_thread(read)


async def _call_often(call: Call) -> Counter[str]:
    """The answers of all callers on the tight budget, each of which makes its calls one after the other."""

    async def several() -> Counter[str]:
        return Counter([await call() for _ in range(CALLS)])

    return sum(await asyncio.gather(*(several() for _ in range(CALLERS))), Counter())
