"""Vectors through the proxy, with OpenAI's own client."""

import asyncio
from collections.abc import Awaitable
from typing import Any
from urllib.parse import urlsplit

import openai
import pytest

from purser.activities.pacing.pace import Pace
from purser.budget.postgres.connections.pools import Connection
from purser.compose.demo.provider import Fault, FaultKind, Provider
from purser.compose.settings import Settings
from tests.gateway.conftest import RunningGateway, on, running_gateway
from tests.gateway.proxy.conftest import Proxy
from tests.support.ledger import meet, no_attempts

MODEL = "text-embedding-3-small"


@pytest.mark.parametrize("form", ["float", "base64"])
async def test_vectors_come_in_the_order_of_the_texts_and_are_charged_as_served(proxy: Proxy, form: Any) -> None:
    await proxy.limited(limit_tokens=1_000)
    client = await proxy.openai(purser_session="s1")
    texts = ["a cat", "a dog", "a house by the sea"]
    found = await client.embeddings.create(model=MODEL, input=texts, encoding_format=form)
    [served] = proxy.provider.served()
    assert [one.index for one in found.data] == [0, 1, 2]
    assert found.usage.total_tokens == served.charged_tokens
    assert await proxy.spent() == (served.charged_tokens, 0)
    again = await client.embeddings.create(model=MODEL, input=texts[2], encoding_format="float")
    vector = found.data[2].embedding
    # The client decodes base64 only if it has asked for it by itself.
    assert again.data[0].embedding == pytest.approx(vector, abs=1e-6) if form == "float" else isinstance(vector, str)


async def test_a_refusal_reaches_no_provider(proxy: Proxy) -> None:
    await proxy.limited(limit_tokens=3)
    client = await proxy.openai(purser_session="s1")
    with pytest.raises(openai.APIStatusError) as refused:
        await client.embeddings.create(model=MODEL, input="far too many words for so few tokens")
    assert refused.value.status_code == 402
    assert (proxy.requests, proxy.provider.served()) == (1, ())


async def test_a_request_that_is_refused_costs_nothing_and_one_that_is_left_costs_its_estimate(proxy: Proxy) -> None:
    await proxy.limited(limit_tokens=1_000)
    client = (await proxy.openai(purser_session="s1")).with_options(max_retries=0)
    proxy.provider.control.add_fault(Fault(kind=FaultKind.RATE_LIMITED))
    with pytest.raises(openai.RateLimitError):
        await client.embeddings.create(model=MODEL, input="a cat")
    assert await proxy.spent() == (0, 0)
    proxy.provider.control.add_fault(Fault(kind=FaultKind.HANG))
    calling = asyncio.create_task(client.embeddings.create(model=MODEL, input="a cat"))
    async with asyncio.timeout(60):
        while len(proxy.provider.served()) < 2:
            await asyncio.sleep(0.02)
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    async with asyncio.timeout(60):
        while (found := await proxy.spent()) == (0, 0) or found[1]:
            await asyncio.sleep(0.05)
    assert found[0] > 0


async def test_a_request_that_is_left_before_its_pace_allows_it_costs_nothing(
    proxy_settings: Settings, provider: Provider, dsn: str, task_queue: str
) -> None:
    pacing = {f"{urlsplit(provider.api_base).netloc}/{MODEL}": Pace(rpm=8)}
    with on(proxy_settings.model_copy(update={"provider_pacing": pacing}), dsn, task_queue) as settings:
        async with running_gateway(settings) as gateway:
            proxy = Proxy(gateway, provider)
            await proxy.limited(limit_tokens=1_000)
            client = await proxy.openai(purser_session="s1")
            await client.embeddings.create(model=MODEL, input="a cat")
            spent, _ = await proxy.spent()
            calling = asyncio.create_task(client.embeddings.create(model=MODEL, input="a cat"))
            async with asyncio.timeout(60):
                while not (await proxy.spent())[1]:
                    await asyncio.sleep(0.05)
                # Time to connect and to get its slot.
                await asyncio.sleep(0.5)
                calling.cancel()
                while (found := await proxy.spent())[1]:
                    await asyncio.sleep(0.05)
    assert (found, len(provider.served())) == ((spent, 0), 1)


async def test_a_request_that_is_left_while_the_ledger_starts_its_attempt_is_not_sent_and_costs_nothing(
    own_gateway: RunningGateway, provider: Provider
) -> None:
    proxy = Proxy(own_gateway, provider)
    await proxy.limited(limit_tokens=1_000)
    client = await proxy.openai(purser_session="s1")
    calling = list[asyncio.Task[Any]]()

    def call() -> Awaitable[Any]:
        calling.append(asyncio.create_task(client.embeddings.create(model=MODEL, input="a cat")))
        return asyncio.wait(calling)

    async def leave(_: Connection) -> None:
        calling[0].cancel()
        async with asyncio.timeout(60):
            while not any(task.cancelling() for task in asyncio.all_tasks() - {*calling}):
                await asyncio.sleep(0.02)

    await meet(own_gateway.pool, no_attempts, call, leave)
    async with asyncio.timeout(60):
        while (found := await proxy.spent())[1]:
            await asyncio.sleep(0.05)
    assert (found, provider.served()) == ((0, 0), ())


@pytest.mark.parametrize(
    "change",
    [{"input": []}, {"input": [1, 2]}, {"input": ""}, {"dimensions": 0}, {"encoding_format": "int8"}, {"x": 1}],
)
async def test_a_bad_request_names_what_is_wrong(proxy: Proxy, change: dict[str, Any]) -> None:
    client = await proxy.openai(purser_session="s1")
    with pytest.raises(openai.UnprocessableEntityError) as refused:
        await client.post("/embeddings", body={"model": MODEL, "input": "a cat"} | change, cast_to=object)
    assert next(iter(change)) in refused.value.message
    assert proxy.provider.served() == ()
