"""What proxies with budgets add to a call: their time and rate beside the bare provider, and what they overspend.

The provider answers at once with the same reply, so that what is measured is the way to it: straight, through Purser's
proxy, and through LiteLLM's, which `make peers` installs in an environment of its own. Callers are closed loops. First
the budget has room for every call; then for a fifth of the calls, each of which takes a tenth of a second. The figures
are valid only if every call with room was answered, Purser overspent nothing, and its ledger agrees with what the
provider served.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import aiohttp

from purser.benchmarks.background import background_process
from purser.benchmarks.http.system import system
from purser.benchmarks.limiters import environments
from purser.benchmarks.limiters.litellm_proxy import litellm_proxy
from purser.benchmarks.limiters.load import CALLERS, CALLS, TIGHT, TOKENS, budgets, overload
from purser.benchmarks.limiters.provider import run_provider
from purser.benchmarks.limiters.purser import purser_proxy, through
from purser.benchmarks.limiters.roads import Road, Roads, call_for
from purser.benchmarks.outcome import Outcome
from purser.benchmarks.progress import log_step
from purser.benchmarks.proxy.lines import LITELLM, PURSER, Line, outcome_of
from purser.budget.postgres.audit.audit import audit
from purser.budget.postgres.connections.pools import create_pool
from purser.compose.signals import cancelled_once

SECONDS = 5.0
AT_ONCE = (1, 16, 64)
"""Numbers of callers."""
ENVIRONMENT = "litellm-proxy"


def run(data: Path | None, seconds: float = SECONDS) -> Outcome:
    """Runs the benchmark.

    Args:
        data: not used.
        seconds: of each line, on each way.
    """
    return asyncio.run(cancelled_once(measure(seconds, AT_ONCE, peer=environments.installed(ENVIRONMENT))))


async def measure(seconds: float, callers: Sequence[int], *, peer: bool) -> Outcome:
    """Measures lines of as many callers, streamed and not, then a budget that is too small.

    Args:
        seconds: of each line, on each way.
        callers: numbers of them.
        peer: whether LiteLLM's proxy is measured too.
    """
    async with AsyncExitStack() as stack:
        connection = stack.enter_context(background_process(run_provider))
        provider = f"http://127.0.0.1:{await asyncio.to_thread(connection.recv)}"
        running = await stack.enter_async_context(system(PURSER_ALLOWED_API_BASES=provider))
        authorization = {"Authorization": f"Bearer {running.key}"}
        gateway = await stack.enter_async_context(aiohttp.ClientSession(running.url, headers=authorization))
        ways = {PURSER: purser_proxy(running, gateway)}
        if peer:
            ways[LITELLM] = await litellm_proxy(provider, stack)
        lines = await _lines(ways, provider, seconds, callers)
        log_step("a budget that is too small")
        tight = {name: await overload(through(roads, stack), provider) for name, roads in ways.items()}
        async with gateway.get("/v1/budgets/session:proxy-tight") as answer:
            charged = (await answer.json())["tokens"]["spent"]
        async with await create_pool(running.dsn, size=1) as pool:
            agrees = (await audit(pool)).ok
    ours = tight[PURSER]
    gate = {
        "every call with room was answered": all(line.answered for line in lines),
        "Purser overspends nothing": ours.overspent == 0 < ours.refused,
        "the ledger charged what was served": charged == ours.served * TOKENS,
        "the ledger agrees with itself": agrees,
    }
    version = environments.version(ENVIRONMENT, "litellm") if peer else None
    settings = {
        "seconds": seconds,
        "tokens_per_call": TOKENS,
        "tight_calls": CALLERS * CALLS,
        "tight_fits": TIGHT,
        "litellm": version or "not installed: make peers",
    }
    return outcome_of(lines, tight, gate, settings)


async def _lines(ways: Mapping[str, Roads], provider: str, seconds: float, callers: Sequence[int]) -> list[Line]:
    plenty, _ = budgets(provider)
    bare = Road("straight", plenty.api_base)
    roads = {name: await make(plenty) for name, make in ways.items()}
    lines = []
    for streams in (False, True):
        for count in callers:
            log_step(f"{count} callers, {'streamed' if streams else 'not streamed'}")
            straight = await call_for(bare, callers=count, streams=streams, seconds=seconds)
            through = {
                name: await call_for(road, callers=count, streams=streams, seconds=seconds)
                for name, road in roads.items()
            }
            lines.append(Line(count, streams, straight, through))
    return lines
