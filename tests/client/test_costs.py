"""Calls whose cost no model tells, such as those of paid tools."""

import asyncio

from tests.client.conftest import PATH, World


async def test_a_call_says_what_it_has_cost(world: World) -> None:
    purser, plain = await world.client(), await world.plain()
    async with purser.call(PATH, nano_usd=900, input_tokens=1) as call:
        await call.start()
        assert (await call.settle({"total": 2}, nano_usd=700)).charged.nano_usd == 700

    def work() -> int | None:
        with plain.call(PATH, nano_usd=900, input_tokens=1) as call:
            call.start()
            return call.settle({"total": 2}, nano_usd=600).charged.nano_usd

    assert await asyncio.to_thread(work) == 600
