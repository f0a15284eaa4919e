"""A gateway that is killed in a stream: its call is presumed once the lease ends, and nothing stays open."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import openai
import pytest

from purser.budget.postgres.audit.audit import audit
from purser.budget.postgres.connections.pools import create_pool
from purser.compose.demo.provider import Provider, Reply, Rule
from purser.gateway.access.roles import Role
from purser.gateway.postgres.keys import Keys
from tests.gateway.proxy.conftest import HELLO
from tests.support.actors import TESTER
from tests.support.ledger import Books
from tests.support.servers.forked import Forks

pytestmark = pytest.mark.stack
CAP = 100
ATTEMPTS = "select state, tokens from attempts"
HOLDS = "select state, tokens, charged_tokens from holds"


async def test_a_killed_gateway_leaves_a_presumed_attempt_and_nothing_open_after_the_lease(
    provider: Provider, dsn: str, temporal_address: str, task_queue: str, tmp_path: Path, forks: Forks
) -> None:
    places = {"dsn": dsn, "temporal_address": temporal_address, "task_queue": task_queue, "gateway_port": "0"}
    quiet = {"metrics_port": "0", "dashboard": "false", "sweep_every_s": "3600"}
    purser = forks.purser(tmp_path, **places, **quiet, allowed_api_bases=provider.address)
    provider.control.add_rule(Rule(reply=Reply(content=" ".join(map(str, range(40)))), chunks=20))
    provider.control.hold(after_chunks=3)
    async with await create_pool(dsn, size=2) as pool:
        books = Books.on(pool)
        key = await Keys(pool).create("default", "bot", Role.AGENT, by=TESTER)
        started = await asyncio.to_thread(purser.start, "gateway")
        try:
            headers = {"Purser-Session": "s1", "Purser-Api-Base": provider.api_base}
            url = f"{started.ready['gateway']}/openai/v1"
            async with openai.AsyncOpenAI(base_url=url, api_key=key.secret, default_headers=headers) as client:
                stream = await client.chat.completions.create(
                    model="gpt-4o", messages=HELLO, max_tokens=CAP, stream=True
                )
                parts = aiter(stream)
                await anext(parts)
                await asyncio.to_thread(started.kill)
                with pytest.raises((httpx.HTTPError, openai.APIError)):
                    await asyncio.wait_for(_rest(parts), 60)
        finally:
            if started.process.poll() is None:
                await asyncio.to_thread(started.kill)
        assert [row["state"] for row in await pool.fetch(ATTEMPTS)] == ["started"]
        assert await books.ledger.sweep() == 0, "the lease has not ended"
        books.at(datetime.now(UTC) + timedelta(hours=1))
        assert await books.ledger.sweep() == 1
        [attempt] = await pool.fetch(ATTEMPTS)
        [hold] = await pool.fetch(HOLDS)
        assert (attempt["state"], hold["state"], hold["tokens"]) == ("presumed", "expired", 0)
        assert hold["charged_tokens"] == attempt["tokens"] > CAP, "prompt and cap: what it may have cost"
        assert (await audit(pool)).ok


async def _rest(parts: object) -> None:
    async for _ in parts:  # type: ignore[attr-defined]
        pass
