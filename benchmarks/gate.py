"""Time and overspend of fifty callers on one budget: of Purser, and of other ways to limit model calls.

All call one provider on this machine, which counts what it serves. First the budget has room for every call, and the
provider answers at once. Then the budget has room for a fifth of the calls, each of which takes a tenth of a second, so
that many are under way when it ends. Peers run in environments of their own, which `make peers` installs; one that is
not there is a row that says so. The figures are valid only if Purser refused nothing that had room, overspent nothing,
charged what was served, and its audit is clean.
"""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import aiohttp

from purser.benchmarks.background import background_process
from purser.benchmarks.http.system import system
from purser.benchmarks.limiters import environments
from purser.benchmarks.limiters.litellm_proxy import litellm_proxy
from purser.benchmarks.limiters.load import CALLERS, CALLS, TIGHT, TOKENS, Loaded, load, served
from purser.benchmarks.limiters.provider import SLOW_S, run_provider
from purser.benchmarks.limiters.purser import UnexpectedStatus, in_process, over_http, purser_proxy, through
from purser.benchmarks.outcome import Outcome, Table, gate_table
from purser.benchmarks.progress import log_step
from purser.budget.postgres.audit.audit import audit
from purser.budget.postgres.connections.pools import create_pool
from purser.compose.signals import cancelled_once

SECONDS = 5.0
HTTP, LITELLM = "Purser over HTTP", "LiteLLM proxy, deployment budget in memory"
TARGET = 2.0
"""Least times the rate of LiteLLM's proxy that holds and settles over HTTP reach."""


@dataclass(frozen=True)
class Peer:
    """Another way to limit model calls."""

    name: str
    environment: str
    distribution: str
    module: str = ""
    """Runs in the environment; none for a proxy, whose callers run in this process."""


PEERS = (
    Peer(LITELLM, "litellm-proxy", "litellm"),
    Peer("LiteLLM BudgetManager", "litellm", "litellm", "litellm_budget_manager"),
    Peer("pydantic-ai UsageLimits", "pydantic-ai", "pydantic-ai-slim", "pydantic_ai_limits"),
    Peer("LangChain ModelCallLimitMiddleware", "langchain", "langchain", "langchain_limits"),
)


@dataclass(frozen=True)
class Row:
    """What callers of one way saw."""

    name: str
    version: str
    loaded: Loaded | None
    """None if it did not run."""
    note: str = ""
    """Why not."""

    def figures(self) -> dict[str, Any]:
        """The figures as JSON."""
        about = {"way": self.name, "version": self.version}
        if self.loaded is None:
            return about | {"note": self.note}
        return about | asdict(self.loaded) | {"overspent": self.loaded.overspent}


def run(data: Path | None, seconds: float = SECONDS) -> Outcome:
    """Runs the benchmark.

    Args:
        data: not used.
        seconds: of each way, with room.
    """
    return asyncio.run(cancelled_once(measure(seconds, PEERS)))


async def measure(seconds: float, peers: Sequence[Peer]) -> Outcome:
    """Measures Purser's ways, then these peers."""
    with background_process(run_provider) as connection:
        provider = f"http://127.0.0.1:{await asyncio.to_thread(connection.recv)}"
        ours, gate = await _purser(provider, seconds)
        theirs = [await _peer(peer, provider, seconds) for peer in peers]
    return outcome_of([*ours, *theirs], gate, seconds)


async def _purser(provider: str, seconds: float) -> tuple[list[Row], dict[str, bool]]:
    async with AsyncExitStack() as stack:
        running = await stack.enter_async_context(system(PURSER_ALLOWED_API_BASES=provider))
        pool = await stack.enter_async_context(await create_pool(running.dsn, size=8))
        headers, connector = {"Authorization": f"Bearer {running.key}"}, aiohttp.TCPConnector(limit=0)
        gateway = aiohttp.ClientSession(running.url, headers=headers, connector=connector)
        await stack.enter_async_context(gateway)
        ways = {
            "Purser in-process": in_process(pool, stack),
            HTTP: over_http(gateway, stack),
            "Purser's proxy": through(purser_proxy(running, gateway), stack),
        }
        rows = []
        for name, make in ways.items():
            log_step(name)
            rows.append(Row(name, "", await load(make, provider, seconds)))
        async with gateway.get("/v1/usage", params={"by": "day"}) as answer:
            charged = sum(day["charged_tokens"] for day in (await answer.json())["items"])
        loaded = [row.loaded for row in rows if row.loaded]
        return rows, {
            "Purser refuses nothing that has room": all(one.wrong == 0 for one in loaded),
            "Purser overspends nothing": all(one.overspent == 0 < one.refused for one in loaded),
            "the ledger charged what was served": charged == await served(provider) * TOKENS,
            "the ledger agrees with itself": (await audit(pool)).ok,
        }


async def _peer(peer: Peer, provider: str, seconds: float) -> Row:
    if not environments.installed(peer.environment):
        return Row(peer.name, "", None, "not installed: make peers")
    log_step(peer.name)
    version = environments.version(peer.environment, peer.distribution)
    try:
        if peer.module:
            found = await environments.figures(peer.environment, peer.module, provider, str(seconds))
            return Row(peer.name, version, Loaded(**found))
        async with AsyncExitStack() as stack:
            calls = through(await litellm_proxy(provider, stack), stack)
            return Row(peer.name, version, await load(calls, provider, seconds))
    except (environments.PeerFailed, UnexpectedStatus, aiohttp.ClientError, TimeoutError) as failed:
        return Row(peer.name, version, None, f"failed: {str(failed) or type(failed).__name__}")


def outcome_of(rows: Sequence[Row], gate: dict[str, bool], seconds: float) -> Outcome:
    """The figures of these ways. What peers overspend, or that they did not run, fails nothing."""
    rates = {row.name: row.loaded.calls_per_s for row in rows if row.loaded}
    times = round(rates[HTTP] / rates[LITELLM], 2) if LITELLM in rates else None
    cells = [
        (row.name, row.version, one.calls_per_s, one.p50_ms, one.p99_ms, one.answered, one.served, one.overspent, "")
        if (one := row.loaded)
        else (row.name, row.version, None, None, None, None, None, None, row.note)
        for row in rows
    ]
    columns = ("way", "version", "calls/s", "p50 ms", "p99 ms", "answered", "served", "overspent", "note")
    return Outcome(
        gate_passed=all(gate.values()),
        results={
            "ways": [row.figures() for row in rows],
            "http_over_litellm_proxy": times,
            "target": TARGET,
            "gate": gate,
        },
        settings={
            "seconds": seconds,
            "callers": CALLERS,
            "tight_calls": CALLERS * CALLS,
            "tight_fits": TIGHT,
            "tight_call_s": SLOW_S,
        },
        tables=[
            Table(f"{CALLERS} callers on one budget, then {CALLERS * CALLS} calls where {TIGHT} fit", columns, cells),
            Table(
                "calls/s of Purser over HTTP", ("in", "measured", "target, at least"),
                [("times LiteLLM proxy", "-" if times is None else f"{times:.2f}", f"{TARGET:.2f}")],
            ),
            gate_table(gate),
        ],
    )  # fmt: skip
