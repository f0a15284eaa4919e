"""Clients that leave streams at random points."""

import asyncio
import os
import random

import httpx
import pytest
from openai import AsyncOpenAI

from purser.budget.postgres.audit.audit import audit
from purser.compose.demo.provider import Reply, Rule
from purser.context.tokens import count_text
from purser.gateway.access.roles import Role
from tests.gateway.proxy.conftest import Proxy
from tests.support.runs.proof import sized

MODEL = "gpt-4o"
WORDS = " ".join(f"word{number}" for number in range(60))


@pytest.mark.proof
async def test_each_stream_that_is_left_is_charged_what_was_produced_until_then(proxy: Proxy) -> None:
    chance = random.Random(os.environ.get("PURSER_TEST_SEED"))
    admin = await proxy.gateway.client(Role.ADMIN)
    proxy.provider.control.add_rule(Rule(reply=Reply(content=WORDS), chunks=60, chunk_delay_ms=10))
    client = await proxy.openai(purser_session="s1")
    left = await asyncio.gather(*(leave(client, chance.randrange(60)) for _ in range(sized(10, 200))))
    for hold_id, seen in left:
        charged = await charge_of(admin, hold_id)
        served = await end_of(proxy, hold_id)
        # What the provider sent last may have been on its way when the client left.
        assert seen <= charged - served[0] <= served[1], hold_id
    assert (await audit(proxy.gateway.pool)).ok


async def leave(client: AsyncOpenAI, after: int) -> tuple[str, int]:
    """Leaves a stream after some parts; returns its hold and the tokens that were seen."""
    stream = await client.chat.completions.create(
        model=MODEL, messages=[{"role": "user", "content": "go on"}], max_tokens=400, stream=True
    )
    text, parts = "", 0
    async for chunk in stream:
        text += (chunk.choices[0].delta.content or "") if chunk.choices else ""
        if (parts := parts + 1) > after:
            break
    await stream.close()
    return stream.response.headers["purser-hold-id"], count_text(text, MODEL).tokens


async def charge_of(admin: httpx.AsyncClient, hold_id: str) -> int:
    """Tokens that were charged, once the hold has ended."""
    async with asyncio.timeout(60):
        while (hold := (await admin.get(f"/v1/holds/{hold_id}")).json())["state"] == "held":
            await asyncio.sleep(0.05)
    return int(hold["charged"]["tokens"])


async def end_of(proxy: Proxy, hold_id: str) -> tuple[int, int]:
    """Prompt tokens of a request, and the tokens that the provider produced for it."""
    [served] = [one for one in proxy.provider.served() if one.arrival.request_id == f"{hold_id}-1"]
    async with asyncio.timeout(60):
        end = await proxy.provider.log.end_of(served.seq)
    return served.arrival.prompt_tokens, end.produced_tokens
