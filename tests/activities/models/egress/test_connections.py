"""Connections to providers that are closed before a request is written to them."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field

import httpx
import pytest
import trustme

from purser.activities.errors import Cost, ProviderUnavailable
from purser.activities.models import provider as provider_module
from purser.activities.models.egress.connections import pooled_connections
from purser.activities.models.egress.routes import Route
from purser.activities.models.egress.transport import Bounds, ProviderTransport, SendPermit
from purser.activities.models.partial_replies import PartialReply
from purser.activities.models.provider import ModelProvider, ModelRequest
from purser.activities.runtime.authorities import trusted
from tests.support.servers.raw_server import RawServer, raw_server, streams

# LiteLLM and its types warn of themselves at import and at first use.
pytestmark = pytest.mark.filterwarnings("ignore")

ANSWER = {"id": "1", "choices": [{"index": 0, "delta": {"content": "Good day."}, "finish_reason": "stop"}]}
STREAM = b"data: " + json.dumps(ANSWER).encode() + b"\n\ndata: [DONE]\n\n"
KEPT = streams(STREAM)


async def call(
    provider: ModelProvider,
    api_base: str,
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

    request = ModelRequest("gpt-4o", [{"role": "user", "content": "Hello"}], (), 50, "7", api_base)
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
            await call(provider, server.api_base, number)
    assert (len(server.requests), server.connections) == (2, 1)


async def test_a_request_whose_connection_closes_while_it_is_permitted_leaves_once_on_another() -> None:
    async with raw_server(KEPT, keeps=True) as server:
        provider = ModelProvider({})
        await call(provider, server.api_base, 1)
        reply = await call(provider, server.api_base, 2, server.hang_up)
    assert (reply.sent, len(server.requests), server.connections) == (True, 2, 2)
    assert server.requests[1].lower().count(b"x-client-request-id: 7-2\r\n") == 1


async def test_a_request_whose_idle_connection_closes_and_that_finds_no_server_then_was_not_sent() -> None:
    async with raw_server(KEPT, keeps=True) as server:
        provider, reply = ModelProvider({}), PartialReply()
        await call(provider, server.api_base, 1)

        async def end() -> None:
            server.stop_listening()
            await server.hang_up()

        with pytest.raises(ProviderUnavailable) as failure:
            await call(provider, server.api_base, 2, end, reply)
    assert (failure.value.reason, failure.value.cost) == ("unreachable", Cost.NOTHING)
    assert (reply.sent, len(server.requests)) == (False, 1)


async def test_a_request_whose_new_connection_closes_before_anything_is_written_was_not_sent() -> None:
    async with raw_server(KEPT, keeps=True) as server:

        async def end() -> None:
            while not server.open:
                await asyncio.sleep(0.001)
            await server.hang_up()

        with pytest.raises(ProviderUnavailable) as failure:
            await call(ModelProvider({}), server.api_base, 1, end)
    assert (failure.value.reason, failure.value.cost, server.requests) == ("unreachable", Cost.NOTHING, [])


async def test_a_connection_that_closes_once_the_request_is_written_leaves_its_cost_unknown() -> None:
    async def hang_up(server: RawServer, _: object) -> None:
        raise OSError

    async with raw_server(hang_up) as server:
        with pytest.raises(ProviderUnavailable) as failure:
            await call(ModelProvider({}), server.api_base, 1)
    assert (failure.value.reason, failure.value.cost) == ("connection_broken", Cost.UNKNOWN)
    assert len(server.requests) == 1


async def kept_answer(server: RawServer, writer: asyncio.StreamWriter) -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n"
    await server.send(writer, head + b"{}")


async def test_a_request_that_is_cancelled_at_any_moment_leaves_no_connection_open_that_no_other_uses() -> None:
    async def on_send() -> SendPermit:
        return SendPermit("7-1", 0)

    async def post(connections: httpx.AsyncBaseTransport, server: RawServer) -> None:
        route = Route("openai", "m", server.api_base, "k", own=True, sdk=True)
        transport = ProviderTransport(
            connections, route, Bounds(), on_send, cap=0, most_bytes=10_000, streams=False, timeout={},
            on_usage_refused=lambda reason: None,
        )  # fmt: skip
        assert (await httpx.AsyncClient(transport=transport).post(f"{server.api_base}/embeddings")).json() == {}

    finished, step = False, 0
    async with raw_server(kept_answer, keeps=True) as server:
        while not finished:
            async with pooled_connections(trusted(), None) as connections:
                cancelled = asyncio.create_task(post(connections, server))
                for _ in range(step):
                    await asyncio.sleep(0)
                finished, step = cancelled.done(), step + 1
                cancelled.cancel()
                await asyncio.gather(cancelled, return_exceptions=True)
                await post(connections, server)
                async with asyncio.timeout(60):
                    while len(server.open) > 1:
                        await asyncio.sleep(0.001)
            while server.open:
                await asyncio.sleep(0.001)


# --- over TLS: session tickets come before the first request, and the end may come with an answer -----------------


@dataclass
class TlsServer:
    """A server of streams over TLS, which keeps connections."""

    port: int = 0
    requests: int = 0
    connections: list[asyncio.StreamWriter] = field(default_factory=list)
    ends: bool = False
    """Whether it closes each connection right after its answer."""

    @property
    def api_base(self) -> str:
        return f"https://127.0.0.1:{self.port}/v1"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections.append(writer)
        with suppress(OSError, asyncio.IncompleteReadError):
            while not writer.is_closing():
                head = await reader.readuntil(b"\r\n\r\n")
                [length] = [int(line[15:]) for line in head.lower().split(b"\r\n") if line[:15] == b"content-length:"]
                await reader.readexactly(length)
                self.requests += 1
                head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
                writer.write(head + b"%x\r\n%b\r\n0\r\n\r\n" % (len(STREAM), STREAM))
                if self.ends:
                    writer.close()
        writer.close()


@pytest.fixture
async def tls_server(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[TlsServer]:
    authority, made = trustme.CA(), TlsServer()
    own, trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context()
    authority.issue_cert("127.0.0.1").configure_cert(own)
    authority.configure_trust(trusting)
    monkeypatch.setattr(provider_module, "trusted", lambda: trusting)
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0, ssl=own)
    made.port = server.sockets[0].getsockname()[1]
    yield made
    server.close()
    for writer in made.connections:
        if not writer.is_closing():  # before Python 3.11.3, it fails where the connection is closed
            writer.transport.abort()


async def arrive() -> None:
    """Returns once the other side can see what has been sent."""
    await asyncio.sleep(0.1)


async def test_a_tls_connection_is_used_after_its_session_tickets_arrived_and_again_when_idle(
    tls_server: TlsServer,
) -> None:
    provider = ModelProvider({})
    for number in (1, 2):
        await call(provider, tls_server.api_base, number, arrive)
    assert (tls_server.requests, len(tls_server.connections)) == (2, 1)


@pytest.mark.parametrize("how", ["close", "abort"])
async def test_a_request_whose_new_tls_connection_closes_before_anything_is_written_was_not_sent(
    tls_server: TlsServer, how: str
) -> None:
    async def end() -> None:
        await arrive()
        [writer] = tls_server.connections
        getattr(writer.transport, how)()
        await arrive()

    with pytest.raises(ProviderUnavailable) as failure:
        await call(ModelProvider({}), tls_server.api_base, 1, end)
    assert (failure.value.reason, failure.value.cost, tls_server.requests) == ("unreachable", Cost.NOTHING, 0)


async def test_a_tls_connection_that_ended_together_with_its_answer_is_not_used_again(tls_server: TlsServer) -> None:
    provider, tls_server.ends = ModelProvider({}), True
    for number in (1, 2):
        await call(provider, tls_server.api_base, number, arrive)
    assert (tls_server.requests, len(tls_server.connections)) == (2, 2)
