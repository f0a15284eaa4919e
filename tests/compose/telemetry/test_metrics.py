"""The metrics endpoint of processes."""

import asyncio
import re
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from purser.activities.runtime.metrics import Metrics as WorkerMetrics
from purser.compose.settings import Settings
from purser.compose.stack.ports import free_port
from purser.compose.telemetry.metrics import serve_metrics
from purser.gateway.metrics.requests import Metrics as GatewayMetrics
from purser.gateway.metrics.requests import source
from tests.support.servers.clients import plain_client
from tests.support.servers.purser import Purser


async def _scraped(port: int, token: str = "") -> httpx.Response:
    async with plain_client(headers={"Authorization": f"Bearer {token}"} if token else {}) as client:
        while True:
            try:
                return await client.get(f"http://127.0.0.1:{port}/metrics")
            except httpx.ConnectError:
                await asyncio.sleep(0.05)


@asynccontextmanager
async def _serving(settings: Settings) -> AsyncIterator[None]:
    stop, worker, gateway = asyncio.Event(), WorkerMetrics(), GatewayMetrics()
    worker.cooling_down()
    gateway.stepped("settled")
    serving = asyncio.create_task(
        serve_metrics(settings, "metrics_port", stop, source(gateway.registry), source(worker.registry))
    )
    try:
        yield
    finally:
        stop.set()
        await serving


async def test_a_process_that_is_gateway_and_worker_shows_both_at_one_address() -> None:
    settings = Settings(metrics_port=free_port())
    async with _serving(settings):
        text = (await _scraped(settings.metrics_port)).text
    assert 'purser_hold_steps_total{step="settled"} 1.0' in text
    assert "purser_compression_cooldowns_total 1.0" in text


async def test_every_process_says_which_version_it_is_and_what_it_uses() -> None:
    settings = Settings(metrics_port=free_port())
    async with _serving(settings):
        text = (await _scraped(settings.metrics_port)).text
    assert re.search(rf'^purser_build_info{{python="[\d.]+",version="{version("purser")}"}} 1.0$', text, re.MULTILINE)
    for name in ("cpu_seconds_total", "resident_memory_bytes", "open_fds", "max_fds", "start_time_seconds"):
        assert re.search(rf"^process_{name} \S+$", text, re.MULTILINE), name


async def test_the_token_guards_metrics_wherever_they_are_served() -> None:
    settings = Settings(metrics_port=free_port(), metrics_token=SecretStr("scrape-me"))
    async with _serving(settings):
        assert (await _scraped(settings.metrics_port)).status_code == 401
        assert (await _scraped(settings.metrics_port, "scrape-me")).status_code == 200


@pytest.mark.stack
async def test_a_worker_serves_its_own(tmp_path: Path, dsn: str, temporal_address: str, task_queue: str) -> None:
    port = free_port()
    purser = Purser.at(
        tmp_path, dsn=dsn, temporal_address=temporal_address, task_queue=task_queue, worker_metrics_port=str(port)
    )
    worker = purser.start("worker")
    try:
        text = (await _scraped(port)).text
    finally:
        worker.end(signal.SIGTERM)
    assert "purser_compression_cooldowns_total 0.0" in text
    assert "purser_http_requests" not in text
