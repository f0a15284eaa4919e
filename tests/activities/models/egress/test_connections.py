"""Connections to providers that are closed before a request is written to them."""

import asyncio
import json
from collections.abc import Awaitable, Callable

import pytest

from purser.activities.errors import Cost, ProviderUnavailable
from purser.activities.models.egress.transport import SendPermit
from purser.activities.models.partial_replies import PartialReply
from purser.activities.models.provider import ModelProvider, ModelRequest
from tests.support.servers.raw_server import RawServer, raw_server, streams

# LiteLLM and its types warn of themselves at import and at first use.
pytestmark = pytest.mark.filterwarnings("ignore")

ANSWER = {"id": "1", "choices": [{"index": 0, "delta": {"content": "Good day."}, "finish_reason": "stop"}]}
KEPT = streams(b"data: " + json.dumps(ANSWER).encode() + b"\n\ndata: [DONE]\n\n")


async def call(
    provider: ModelProvider,
    server: RawServer,
    number: int,
    on_send: Callable[[], Awaitable[None]] | None = None,
    reply: PartialReply | None = None,
) -> PartialReply:
    permits = 0

    async def permit() -> SendPermit:
        nonlocal permits
        permits += 1
        if on_send is not None:
            await on_send()
        return SendPermit(f"7-{number}", 50)

    request = ModelRequest("gpt-4o", [{"role": "user", "content": "Hello"}], (), 50, "7", server.api_base)
    reply = reply or PartialReply()
    try:
        await provider.complete(request, reply, permit)
    finally:
        assert permits == 1
    return reply


async def test_an_idle_connection_is_used_again() -> None:
    async with raw_server(KEPT, keeps=True) as server:
        provider = ModelProvider({})
        for number in (1, 2):
            await call(provider, server, number)
    assert (len(server.requests), server.connections) == (2, 1)


async def test_a_request_whose_connection_closes_while_it_is_permitted_leaves_once_on_another() -> None:
    async with raw_server(KEPT, keeps=True) as server:
        provider = ModelProvider({})
        await call(provider, server, 1)
        reply = await call(provider, server, 2, server.hang_up)
    assert (reply.sent, len(server.requests), server.connections) == (True, 2, 2)
    assert server.requests[1].lower().count(b"x-client-request-id: 7-2\r\n") == 1


async def test_a_request_whose_idle_connection_closes_and_that_finds_no_server_then_was_not_sent() -> None:
    async with raw_server(KEPT, keeps=True) as server:
        provider, reply = ModelProvider({}), PartialReply()
        await call(provider, server, 1)

        async def end() -> None:
            server.stop_listening()
            await server.hang_up()

        with pytest.raises(ProviderUnavailable) as failure:
            await call(provider, server, 2, end, reply)
    assert (failure.value.reason, failure.value.cost) == ("unreachable", Cost.NOTHING)
    assert (reply.sent, len(server.requests)) == (False, 1)


async def test_a_request_whose_new_connection_closes_before_anything_is_written_was_not_sent() -> None:
    async with raw_server(KEPT, keeps=True) as server:

        async def end() -> None:
            while not server.open:
                await asyncio.sleep(0.001)
            await server.hang_up()

        with pytest.raises(ProviderUnavailable) as failure:
            await call(ModelProvider({}), server, 1, end)
    assert (failure.value.reason, failure.value.cost, server.requests) == ("unreachable", Cost.NOTHING, [])


async def test_a_connection_that_closes_once_the_request_is_written_leaves_its_cost_unknown() -> None:
    async def hang_up(server: RawServer, _: object) -> None:
        raise OSError

    async with raw_server(hang_up) as server:
        with pytest.raises(ProviderUnavailable) as failure:
            await call(ModelProvider({}), server, 1)
    assert (failure.value.reason, failure.value.cost) == ("connection_broken", Cost.UNKNOWN)
    assert len(server.requests) == 1
