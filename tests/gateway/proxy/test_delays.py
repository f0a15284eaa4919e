"""Backpressure, warnings and a ledger that is away, as a client of the proxy meets them."""

import asyncio

import openai
import pytest

from purser.compose.stack.postgres import EmbeddedPostgres
from tests.gateway.proxy.conftest import HELLO, Proxy


async def test_an_answer_names_its_delay_and_its_warning(proxy: Proxy) -> None:
    await proxy.limited(limit_tokens=100, warn_at=[0.1], backpressure=[{"ratio": 0.2, "delay_ms": 20}])
    client = await proxy.openai(purser_session="s1")
    raw = await client.chat.completions.with_raw_response.create(model="gpt-4o", messages=HELLO, max_tokens=50)
    assert (raw.headers["purser-delay-ms"], raw.headers["purser-verdict"]) == ("20", "warn")


async def test_a_call_is_not_sent_before_its_backpressure_delay_ends(proxy: Proxy) -> None:
    await proxy.limited(limit_tokens=100, backpressure=[{"ratio": 0.2, "delay_ms": 60_000}])
    client = await proxy.openai(purser_session="s1")
    calling = asyncio.create_task(client.chat.completions.create(model="gpt-4o", messages=HELLO, max_tokens=50))
    async with asyncio.timeout(60):
        while not (await proxy.spent())[1]:
            await asyncio.sleep(0.05)
    await asyncio.sleep(0.3)
    assert proxy.provider.served() == ()  # held, and not sent yet
    calling.cancel()


@pytest.mark.stack
class TestWithoutPostgres:
    @pytest.fixture
    async def dsn(self, stoppable_postgres: EmbeddedPostgres) -> str:
        return await stoppable_postgres.start()

    async def test_a_call_is_503_and_reaches_no_provider(
        self, dsn: str, proxy: Proxy, stoppable_postgres: EmbeddedPostgres
    ) -> None:
        client = (await proxy.openai(purser_session="s1")).with_options(max_retries=0)
        await asyncio.to_thread(stoppable_postgres.stop)
        with pytest.raises(openai.InternalServerError) as away:
            await client.chat.completions.create(model="gpt-4o", messages=HELLO)
        assert (away.value.status_code, away.value.code) == (503, "ledger_unavailable")
        assert away.value.response.headers["x-should-retry"] == "true"
        assert int(away.value.response.headers["retry-after"]) >= 1
        assert proxy.provider.served() == ()
