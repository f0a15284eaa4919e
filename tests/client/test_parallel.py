"""Many calls at once on one budget spend no more than it has."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from purser.budget.postgres.audit.audit import audit
from purser_client import BudgetBusy, BudgetRefused
from tests.client.conftest import MODEL, PATH, World

CALLS = 12
MESSAGES: Any = [{"role": "user", "content": "hello there"}]
INPUT = 9
OUTPUT = 30
LIMIT = 170


async def test_many_parallel_calls_spend_no_more_than_the_budget(world: World) -> None:
    await world.limit(LIMIT, mode="hard")
    purser, provider = await world.client(), await world.openai()

    async def one() -> bool:
        terms: Any = {"model": MODEL, "input_tokens": INPUT, "max_output_tokens": OUTPUT, "wait_s": 120}
        try:
            async with purser.call(PATH, **terms) as call:
                cap = await call.start()
                await call.settle(
                    await provider.chat.completions.create(model=MODEL, messages=MESSAGES, max_tokens=cap)
                )
        except (BudgetRefused, BudgetBusy):
            return False
        return True

    done = await asyncio.gather(*(one() for _ in range(CALLS)))
    await _check(world, sum(done))


async def test_threads_share_a_client_and_a_budget(world: World) -> None:
    await world.limit(LIMIT, mode="hard")
    purser, provider = await world.plain(), world.plain_openai()

    def one(_: int) -> bool:
        terms: Any = {"model": MODEL, "input_tokens": INPUT, "max_output_tokens": OUTPUT, "wait_s": 120}
        try:
            with purser.call(PATH, **terms) as call:
                cap = call.start()
                call.settle(provider.chat.completions.create(model=MODEL, messages=MESSAGES, max_tokens=cap))
        except (BudgetRefused, BudgetBusy):
            return False
        return True

    with ThreadPoolExecutor(CALLS) as threads:
        done = await asyncio.to_thread(lambda: list(threads.map(one, range(CALLS))))
    await _check(world, sum(done))


async def _check(world: World, done: int) -> None:
    budget = await (await world.client()).budgets.show("session:s1")
    served = world.served_tokens()
    assert len(served) == done
    assert 0 < done < CALLS
    assert (budget.tokens.spent, budget.tokens.held, budget.tokens.overrun) == (sum(served), 0, 0)
    assert sum(served) <= LIMIT
    assert (await audit(world.gateway.pool)).ok
