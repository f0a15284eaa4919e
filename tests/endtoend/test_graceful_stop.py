"""Graceful stop of a gateway: `/readyz` reports it first, then requests and streams end complete."""

import asyncio
import json
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass

import httpx
import pytest

from purser.budget.postgres.connections.pools import create_pool
from purser.compose.stack.ports import LOOPBACK, free_port
from purser.gateway.access.roles import Role
from purser.gateway.postgres.keys import Keys
from tests.support.actors import TESTER
from tests.support.servers.forked import Forks
from tests.support.servers.purser import Started

pytestmark = pytest.mark.stack
DRAIN_S = 2


@dataclass(frozen=True)
class Process:
    """A `purser gateway`."""

    started: Started
    port: int
    key: str

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://{LOOPBACK}:{self.port}"


@pytest.fixture
async def process(
    dsn: str, temporal_address: str, task_queue: str, forks: Forks, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Process]:
    async with await create_pool(dsn, size=1) as pool:
        made = await Keys(pool).create("default", "ops", Role.ADMIN, by=TESTER)
    port, home = free_port(), tmp_path_factory.mktemp("gateway")
    places = {"dsn": dsn, "temporal_address": temporal_address, "task_queue": task_queue}
    settings = {"metrics_port": "0", "drain_s": str(DRAIN_S), "shutdown_grace_s": "20"}
    purser = forks.purser(home, **places, **settings)
    started = await asyncio.to_thread(purser.start, "gateway", "--port", str(port))
    try:
        yield Process(started, port, made.secret)
    finally:
        await asyncio.to_thread(started.end, signal.SIGKILL)


async def test_a_slow_request_and_an_open_stream_end_whole(process: Process) -> None:
    headers = {"Authorization": f"Bearer {process.key}"}
    body = json.dumps({"key": "k1", "path": ["session:s1"], "tokens": 100}).encode()
    async with httpx.AsyncClient(base_url=process.url, headers=headers, timeout=30) as client:
        async with client.stream("GET", "/v1/events") as stream:
            lines = stream.aiter_lines()
            assert await anext(lines)
            reader, writer = await asyncio.open_connection(LOOPBACK, process.port)
            writer.write(_head(process.key, len(body)) + body[:10])
            await writer.drain()

            process.started.process.send_signal(signal.SIGTERM)

            problem = await _until_not_ready(client)
            assert problem["detail"] == "the gateway is stopping: it finishes requests in progress"
            assert (await client.get("/v1/budgets/session:s1")).status_code == 200, "it serves requests until then"
            rest = [line async for line in lines]
        await asyncio.sleep(1)
        with pytest.raises(httpx.ConnectError):
            async with httpx.AsyncClient(base_url=process.url) as late:
                await late.get("/healthz")
        writer.write(body[10:])
        await writer.drain()
        answer = await reader.read()
        writer.close()

    assert ": the gateway is stopping: reconnect" in rest
    assert answer.startswith(b"HTTP/1.1 200")
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["verdict"] == "allow"
    assert await asyncio.to_thread(process.started.process.wait, 20) == 0


def _head(key: str, length: int) -> bytes:
    lines = ["POST /v1/holds HTTP/1.1", f"Host: {LOOPBACK}", f"Authorization: Bearer {key}"]
    lines += ["Content-Type: application/json", f"Content-Length: {length}", "", ""]
    return "\r\n".join(lines).encode()


async def _until_not_ready(client: httpx.AsyncClient) -> dict[str, str]:
    while (answer := await client.get("/readyz")).status_code == 200:
        await asyncio.sleep(0.05)
    problem: dict[str, str] = answer.json()
    return problem
