"""What the proxy adds to a call: its time and its rate beside the bare provider, and what it overspends.

The provider answers at once with the same reply, so that what is measured is the way. Callers are closed loops. The
figures are valid only if every call was answered, the budget of the last part was not exceeded, and the ledger agrees
with what the provider served.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from purser.benchmarks.background import background_process
from purser.benchmarks.closed_loops import Measured
from purser.benchmarks.http.system import System, system
from purser.benchmarks.outcome import Outcome, Table
from purser.benchmarks.proxy.callers import Road, call_for, call_often
from purser.benchmarks.proxy.provider import PROMPT, REPLY, run_provider
from purser.budget.postgres.audit.audit import audit
from purser.budget.postgres.connections.pools import create_pool

SECONDS = 5.0
CALLERS = (1, 16, 64)
PATIENT = {"Purser-Session": "plenty"}
TIGHT = "tight"
"""The session whose budget is smaller than what is asked of it."""
LIMIT = 3_000
TIGHT_CALLERS, TIGHT_CALLS = 50, 10


@dataclass(frozen=True)
class Line:
    """Calls of as many callers, straight to the provider and through the proxy."""

    callers: int
    streams: bool
    bare: Measured
    through: Measured

    def figures(self) -> dict[str, Any]:
        """The figures as JSON."""
        return {
            "callers": self.callers,
            "streams": self.streams,
            "bare_p50_ms": self.bare.p50_ms(),
            "p50_ms": self.through.p50_ms(),
            "added_p50_ms": round(self.through.p50_ms() - self.bare.p50_ms(), 2),
            "added_p99_ms": round(self.through.p99_ms() - self.bare.p99_ms(), 2),
            "bare_per_s": round(self.bare.rate, 1),
            "per_s": round(self.through.rate, 1),
        }

    @property
    def answered(self) -> bool:
        """Whether every call was answered with a reply."""
        return set(self.bare.answers) == set(self.through.answers) == {200}


def run(data: Path | None, seconds: float = SECONDS) -> Outcome:
    """Runs the benchmark.

    Args:
        data: not used.
        seconds: of each line, straight and through the proxy.
    """
    return asyncio.run(measure(seconds, CALLERS))


async def measure(seconds: float, callers: Sequence[int]) -> Outcome:
    """Measures lines of as many callers, streamed and not, then a budget that is too small."""
    with background_process(run_provider) as provider:
        port = await asyncio.to_thread(provider.recv)
        address = f"http://127.0.0.1:{port}"
        async with system(PURSER_ALLOWED_API_BASES=address) as running:
            headers = {"Authorization": f"Bearer {running.key}", "Purser-Api-Base": f"{address}/v1"}
            bare = Road("bare", f"{address}/v1")
            proxy = Road("proxy", f"{running.url}/openai/v1", headers | PATIENT)
            lines = [
                Line(
                    count,
                    streams,
                    await call_for(bare, callers=count, streams=streams, seconds=seconds),
                    await call_for(proxy, callers=count, streams=streams, seconds=seconds),
                )
                for streams in (False, True)
                for count in callers
            ]
            return await _outcome(lines, running, headers, address, seconds)


async def _outcome(
    lines: Sequence[Line], running: System, headers: dict[str, str], address: str, seconds: float
) -> Outcome:
    spending = await _spend_tight(running, headers, address)
    async with await create_pool(running.dsn, size=1) as pool:
        agrees = (await audit(pool)).ok
    gate = {
        "every call was answered": all(line.answered for line in lines),
        "nothing is overspent": spending["overspent_tokens"] == 0 and spending["refused"] > 0,
        "the ledger charged what was served": spending["charged_tokens"] == spending["served_tokens"],
        "the ledger agrees with itself": agrees,
    }
    found = [line.figures() for line in lines]
    columns = ("callers", "streams", "bare p50 ms", "p50 ms", "added p50 ms", "added p99 ms", "bare calls/s", "calls/s")
    return Outcome(
        gate_passed=all(gate.values()),
        results={"lines": found, "tight_budget": spending, "gate": gate},
        settings={"seconds": seconds, "limit_tokens": LIMIT, "tokens_per_call": PROMPT + REPLY},
        tables=[
            Table("calls through the proxy", columns, [tuple(line.values()) for line in found]),
            Table("a budget that is too small", tuple(spending), [tuple(spending.values())]),
            Table("gate", ("what", "holds"), [(name, "yes" if holds else "no") for name, holds in gate.items()]),
        ],
    )


async def _spend_tight(running: System, headers: dict[str, str], address: str) -> dict[str, int]:
    """Many callers on one session that may spend less than they ask for."""
    async with aiohttp.ClientSession(headers=headers) as http:
        budget = f"{running.url}/v1/budgets/session:{TIGHT}"
        async with http.put(budget, json={"limit_tokens": LIMIT, "mode": "hard"}) as answer:
            answer.raise_for_status()
        before = await _served(http, address)
        road = Road("tight", f"{running.url}/openai/v1", headers | {"Purser-Session": TIGHT, "Prefer": "wait=0"})
        statuses = await call_often(road, callers=TIGHT_CALLERS, calls=TIGHT_CALLS)
        served = (await _served(http, address) - before) * (PROMPT + REPLY)
        async with http.get(budget) as answer:
            charged = (await answer.json())["tokens"]["spent"]
    return {
        "calls": statuses.total(),
        "answered": statuses[200],
        "refused": statuses[402] + statuses[429],
        "limit_tokens": LIMIT,
        "served_tokens": served,
        "charged_tokens": charged,
        "overspent_tokens": max(0, served - LIMIT),
    }


async def _served(http: aiohttp.ClientSession, address: str) -> int:
    async with http.get(f"{address}/served") as answer:
        return int((await answer.json())["calls"])
