"""A provider and a client for each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from openai import AsyncOpenAI

from purser.compose.demo.provider import Provider, serve_provider
from tests.support.servers.clients import plain_client


@pytest.fixture
def log_file(tmp_path: Path) -> Path:
    """Where `provider` writes its log."""
    return tmp_path / "served.jsonl"


@pytest.fixture
async def provider(log_file: Path) -> AsyncIterator[Provider]:
    """A provider on a free port, without rules, recordings or faults."""
    async with serve_provider(log=log_file) as provider:
        yield provider


@pytest.fixture
async def client(provider: Provider) -> AsyncIterator[AsyncOpenAI]:
    """The openai client of `provider`, without retries of its own."""
    async with AsyncOpenAI(base_url=provider.api_base, api_key="any", max_retries=0, timeout=60) as client:
        yield client


@pytest.fixture
async def http(provider: Provider) -> AsyncIterator[httpx.AsyncClient]:
    """Plain HTTP to `provider`."""
    async with plain_client(base_url=provider.address) as http:
        yield http
