"""Limits of connections that a gateway takes from its settings."""

import asyncio
import resource

import httpx
import pytest

from purser.compose.http.connections import ConnectionLimits
from purser.compose.processes.gateway import _connection_limits
from purser.compose.settings import Settings
from tests.gateway.conftest import RunningGateway

LIMITS = {
    "max_connections": 700,
    "max_connections_per_address": 1,
    "header_timeout_s": 3,
    "body_timeout_s": 4,
    "keep_alive_s": 5,
}


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update=LIMITS)


async def test_a_gateway_refuses_more_connections_than_its_settings_allow(gateway: RunningGateway) -> None:
    url = httpx.URL(gateway.url)
    _, first = await asyncio.open_connection(url.host, url.port)
    reader, second = await asyncio.open_connection(url.host, url.port)
    assert (await reader.read()).startswith(b"HTTP/1.1 503")
    first.close()
    second.close()


def test_limits_of_connections_are_settings_and_open_files_are_raised_for_them(plain_settings: Settings) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(512, hard), hard))
    try:
        assert _connection_limits(plain_settings.model_copy(update=LIMITS)) == ConnectionLimits(
            connections=min(700, hard - 256), per_address=1, header_s=3, body_s=4, keep_alive_s=5
        )
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == hard
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
