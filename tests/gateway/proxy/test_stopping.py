"""Calls that have not ended when the time of a gateway to stop is over."""

import asyncio

import openai
import pytest
from openai import AsyncStream
from openai.types.chat import ChatCompletionChunk

from purser.budget.postgres.audit.audit import audit
from purser.compose.demo.provider import Provider, Reply, Rule
from purser.compose.processes.gateway import run_gateway
from purser.compose.settings import Settings
from purser.gateway.access.roles import Role
from tests.gateway.conftest import on, reaching
from tests.gateway.proxy.conftest import HELLO, Proxy
from tests.support.threads import in_task

CAP = 400
CALLS = 5
HOLDS = "select state, charged_tokens from holds"


async def test_each_is_told_so_charged_what_it_produced_and_holds_nothing_any_more(
    proxy_settings: Settings, dsn: str, task_queue: str, provider: Provider
) -> None:
    provider.control.add_rule(Rule(reply=Reply(content=" ".join(map(str, range(40)))), chunks=20))
    provider.control.hold(after_chunks=3, times=CALLS)
    brief = proxy_settings.model_copy(update={"shutdown_grace_s": 1})
    with on(brief, dsn, task_queue) as settings:
        async with reaching(settings) as gateway:
            async with in_task(lambda stop, ready: run_gateway(settings, stop, ready)) as stop:
                client = await Proxy(gateway, provider).openai(Role.AGENT, purser_session="s1")
                begun = asyncio.Semaphore(0)

                async def cut_off() -> None:
                    stream = await client.chat.completions.create(
                        model="gpt-4o", messages=HELLO, max_tokens=CAP, stream=True
                    )
                    with pytest.raises(openai.APIError, match="the gateway stopped"):
                        await read(stream, begun)

                async with asyncio.TaskGroup() as calls:
                    for _ in range(CALLS):
                        calls.create_task(cut_off())
                    for _ in range(3 * CALLS):
                        await begun.acquire()
                    stop.set()
            holds = await gateway.pool.fetch(HOLDS)
            assert [hold["state"] for hold in holds] == ["settled"] * CALLS
            assert all(0 < hold["charged_tokens"] < CAP for hold in holds)
            assert (await audit(gateway.pool)).ok


async def read(stream: AsyncStream[ChatCompletionChunk], begun: asyncio.Semaphore) -> None:
    """Reads a stream to its end, and tells of each part."""
    async for _ in stream:
        begun.release()
