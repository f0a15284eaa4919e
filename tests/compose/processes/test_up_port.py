"""The port of `purser up`."""

import asyncio
import socket
from pathlib import Path

import pytest

from purser.compose.errors import StackError
from purser.compose.processes.up import up
from purser.compose.settings import Settings
from purser.compose.stack.ports import LOOPBACK


async def test_a_configured_port_that_is_taken_is_an_error_and_nothing_is_started(tmp_path: Path) -> None:
    with socket.create_server((LOOPBACK, 0)) as taken:
        port = taken.getsockname()[1]
        settings = Settings(data_dir=tmp_path, gateway_port=port).with_sources({"gateway_port": "command line"})
        with pytest.raises(StackError, match=f"cannot listen on {LOOPBACK}:{port}") as caught:
            await up(settings, asyncio.Event(), lambda running, link: None, fresh=False)
    assert "--port" in caught.value.remedy
    assert not (tmp_path / "postgres").exists()
