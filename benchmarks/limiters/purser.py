"""Calls under a budget of Purser: with its ledger in the same process, over HTTP, and through its proxy.

Connections to what answers the calls stay open until `clients` closes.
"""

from contextlib import AsyncExitStack
from itertools import count
from typing import Any

import aiohttp

from purser.benchmarks.http.system import System
from purser.benchmarks.limiters.load import ANSWERED, PROMPT, REFUSED, REPLY, TOKENS, Budget, Budgets, Call
from purser.benchmarks.limiters.roads import Road, Roads, call_once, client_of
from purser.budget.actors import Actor
from purser.budget.gate import Amount
from purser.budget.holds import HoldRequest, Report
from purser.budget.policies.fields import Mode
from purser.budget.policies.policy import PolicyPatch
from purser.budget.postgres.connections.pools import Pool
from purser.budget.postgres.ledger.ledger import Ledger
from purser.budget.postgres.ledger.policies import Policies
from purser.budget.postgres.ledger.settings import LedgerSettings
from purser.budget.scopes import Path
from purser.budget.usage import Usage

TENANT = "default"
REFUSALS = frozenset({402, 429})
"""Statuses of a proxy that refuses."""


class UnexpectedStatus(Exception):
    """A call was neither answered with a reply nor refused."""


def in_process(pool: Pool, clients: AsyncExitStack) -> Budgets:
    """Holds and settles with a ledger of this process, around calls of the provider."""
    ledger, policies, keys = Ledger(pool, LedgerSettings()), Policies(pool, LedgerSettings()), count()

    async def make(budget: Budget) -> Call:
        provider = await clients.enter_async_context(client_of(Road(budget.name, budget.api_base)))
        path = Path.parse([f"session:in-{budget.name}"])
        limit = PolicyPatch(limit_tokens=budget.calls * TOKENS, mode=Mode.HARD)
        await policies.set(TENANT, path.scopes[-1], limit, by=Actor("bench", None))

        async def call() -> str:
            ask = HoldRequest(f"in-{next(keys)}", path, Amount(TOKENS, 0), patient=False, start=True)
            hold = (await ledger.hold(TENANT, ask)).hold_id
            if hold is None:
                return REFUSED
            _must_be_200(await call_once(provider, streams=False))
            await ledger.settle(TENANT, hold, 1, Report(Usage(input=PROMPT, output=REPLY), 0))
            return ANSWERED

        return call

    return make


def over_http(gateway: aiohttp.ClientSession, clients: AsyncExitStack) -> Budgets:
    """Holds and settles with two requests, around calls of the provider."""
    keys = count()

    async def post(path: str, body: dict[str, Any]) -> Any:
        async with gateway.post(path, json=body) as answer:
            answer.raise_for_status()
            return await answer.json()

    async def make(budget: Budget) -> Call:
        provider = await clients.enter_async_context(client_of(Road(budget.name, budget.api_base)))
        scope = f"session:http-{budget.name}"
        await _set_limit(gateway, scope, budget.calls)

        async def call() -> str:
            ask = {"key": f"http-{next(keys)}", "path": [scope], "tokens": TOKENS, "start": True}
            held = await post("/v1/holds", ask)
            if held["hold_id"] is None:
                return REFUSED
            _must_be_200(await call_once(provider, streams=False))
            report = {"attempt": 1, "usage": {"input": PROMPT, "output": REPLY}}
            await post(f"/v1/holds/{held['hold_id']}/settle", report)
            return ANSWERED

        return call

    return make


def purser_proxy(running: System, gateway: aiohttp.ClientSession) -> Roads:
    """Roads through Purser's proxy, which refuses at once what does not fit."""

    async def make(budget: Budget) -> Road:
        await _set_limit(gateway, f"session:proxy-{budget.name}", budget.calls)
        headers = {"Authorization": f"Bearer {running.key}", "Purser-Api-Base": budget.api_base}
        headers |= {"Purser-Session": f"proxy-{budget.name}", "Prefer": "wait=0"}
        return Road("Purser's proxy", f"{running.url}/openai/v1", headers)

    return make


def through(roads: Roads, clients: AsyncExitStack) -> Budgets:
    """Calls a proxy that refuses by its status."""

    async def make(budget: Budget) -> Call:
        road = await roads(budget)
        proxy = await clients.enter_async_context(client_of(road))

        async def call() -> str:
            status = await call_once(proxy, streams=False, model=road.model)
            if status in REFUSALS:
                return REFUSED
            _must_be_200(status)
            return ANSWERED

        return call

    return make


async def _set_limit(gateway: aiohttp.ClientSession, scope: str, calls: int) -> None:
    limit = {"limit_tokens": calls * TOKENS, "mode": "hard"}
    async with gateway.put(f"/v1/budgets/{scope}", json=limit) as answer:
        answer.raise_for_status()


def _must_be_200(status: int) -> None:
    if status != 200:
        raise UnexpectedStatus(f"a call was answered with status {status}")
