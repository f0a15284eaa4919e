"""Streams whose key ends while its model answers."""

import asyncio

import openai
import pytest

from purser.compose.demo.provider import Reply, Rule
from purser.gateway.access import authentication
from purser.gateway.access.roles import Role
from tests.gateway.proxy.conftest import HELLO, Proxy
from tests.gateway.proxy.test_chat import eventually_ended


@pytest.mark.parametrize("chunks", [None, 3])
async def test_the_client_gets_an_error_and_what_was_produced_is_charged(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch, chunks: int | None
) -> None:
    monkeypatch.setattr(authentication, "RECHECK_S", 0.5)
    admin = await proxy.limited(limit_tokens=50_000)
    reply = Reply(content=" ".join(map(str, range(40))))
    proxy.provider.control.add_rule(Rule(reply=reply, chunks=20, chunk_delay_ms=100))
    proxy.provider.control.hold(after_chunks=chunks)
    client = await proxy.openai(Role.AGENT, purser_session="s1")

    async def read() -> int:
        stream = await client.chat.completions.create(model="gpt-4o", messages=HELLO, max_tokens=400, stream=True)
        return len([chunk async for chunk in stream])

    reading = asyncio.create_task(read())
    await proxy.provider.control.wait_held()
    [own] = [key for key in (await admin.get("/v1/keys")).json()["items"] if key["role"] == "agent"]
    (await admin.delete(f"/v1/keys/{own['key_id']}")).raise_for_status()
    await asyncio.sleep(0.5)
    proxy.provider.control.continue_held()
    with pytest.raises(openai.AuthenticationError if chunks is None else openai.APIError, match="key") as ended:
        await reading
    assert ended.value.code == "unauthenticated"
    [served] = proxy.provider.served()
    async with asyncio.timeout(30):
        end = await proxy.provider.log.end_of(served.seq)
    assert end.client_gone
    charged = await eventually_ended(proxy)
    assert served.arrival.prompt_tokens <= charged < served.arrival.prompt_tokens + 40
