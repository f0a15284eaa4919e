"""One running `purser up` and one provider, shared by all tests of a test process that do not change them."""

import asyncio
import json
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.databases import create
from tests.support.servers.commands import Commands
from tests.support.servers.forked import Forks


@dataclass(frozen=True)
class System:
    """A running system for commands."""

    purser: Commands
    ready: dict[str, Any]
    """The JSON document that `up` printed."""
    api_base: str
    """`api_base` of the provider."""


@pytest.fixture(scope="session")
def provider() -> Iterator[str]:
    """Address of a provider that answers everything with a short text."""
    process = subprocess.Popen(
        [sys.executable, "-m", "purser.compose.demo.provider", "--port", "0"], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    yield json.loads(process.stdout.readline())["api_base"]
    process.terminate()
    process.wait(10)
    process.stdout.close()


@pytest.fixture(scope="session")
def system(
    provider: str,
    postgres_server: str,
    template: str,
    worker_id: str,
    forks: Forks,
    temporal_address: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[System]:
    home = tmp_path_factory.mktemp("cli")
    server = forks.purser(
        home,
        allowed_api_bases=provider,
        metrics_port="0",
        dsn=asyncio.run(create(postgres_server, f"cli_{worker_id}", template)),
        temporal_address=temporal_address,
        task_queue=f"cli-{worker_id}",
    )
    with server.up("--data", str(home / "data"), "--port", "0") as started:
        yield System(Commands.at(home), started.ready, provider)


@pytest.fixture
def purser(system: System) -> Commands:
    return system.purser


@pytest.fixture
def name() -> str:
    """An id that no other test uses."""
    return f"x{uuid.uuid4().hex[:12]}"


@pytest.fixture
def write_task(system: System, name: str, tmp_path: Path) -> Callable[..., Path]:
    """Write a task file of one agent in its own session."""

    def write(**change: Any) -> Path:
        agent = {"id": "solo", "model": "openai/any", "instructions": "Answer briefly.", "api_base": system.api_base}
        body = {"session_id": f"s-{name}", "task_id": name, "input": "Say something.", "agents": [agent]} | change
        file = tmp_path / "task.json"
        file.write_text(json.dumps(body))
        return file

    return write
