"""LiteLLM's proxy with a budget for each deployment of a model, which it keeps in memory.

Budgets of its keys, users and teams need a database through Prisma, whose engine is not among its pinned dependencies.
"""

import asyncio
import json
import socket
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path

import aiohttp

from purser.benchmarks.limiters.environments import PeerFailed, process
from purser.benchmarks.limiters.load import MODEL, TOKENS, Budget, budgets
from purser.benchmarks.limiters.roads import Road, Roads

KEY = "sk-bench"
PRICE = 1e-6
"""Dollars of each token."""
READY_WITHIN_S = 240


async def litellm_proxy(provider: str, stack: AsyncExitStack) -> Roads:
    """Starts the proxy, which ends when `stack` closes; its budgets are models.

    Raises:
        PeerFailed: it was not ready in time.
    """
    port = _free_port()
    file = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="purser-bench-"))) / "config.json"
    file.write_text(json.dumps(_config(provider)))
    options = ("--config", str(file), "--host", "127.0.0.1", "--port", str(port), "--telemetry", "False")
    running = await stack.enter_async_context(process("litellm-proxy", "litellm", *options))
    # Its log would fill the pipe.
    assert running.stdout is not None
    stack.callback(asyncio.create_task(running.stdout.read()).cancel)
    address = f"http://127.0.0.1:{port}"
    await _until_ready(f"{address}/health/liveliness", running)

    async def make(budget: Budget) -> Road:
        return Road("LiteLLM proxy", f"{address}/v1", {"Authorization": f"Bearer {KEY}"}, budget.name)

    return make


def _config(provider: str) -> dict[str, object]:
    return {
        "model_list": [
            {
                "model_name": budget.name,
                "litellm_params": {
                    "model": f"openai/{MODEL}",
                    "api_base": budget.api_base,
                    "api_key": "none",
                    "input_cost_per_token": PRICE,
                    "output_cost_per_token": PRICE,
                    # Sums of floats may stay a little below the limit, which would allow one call more.
                    "max_budget": (budget.calls * TOKENS - 0.5) * PRICE,
                    "budget_duration": "1d",
                },
            }
            for budget in budgets(provider)
        ],
        "general_settings": {"master_key": KEY},
        "litellm_settings": {"num_retries": 0},
    }


async def _until_ready(url: str, running: asyncio.subprocess.Process) -> None:
    try:
        async with asyncio.timeout(READY_WITHIN_S), aiohttp.ClientSession() as http:
            while running.returncode is None:
                try:
                    async with http.get(url) as answer:
                        if answer.status == 200:
                            return
                except aiohttp.ClientConnectionError:
                    pass
                await asyncio.sleep(0.2)
    except TimeoutError:
        pass
    raise PeerFailed("the proxy was not ready in time")


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
