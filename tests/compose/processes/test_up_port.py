"""The port of `purser up`."""

import asyncio
import socket
from pathlib import Path

import psutil
import pytest

from purser.compose.errors import StackError
from purser.compose.processes import up as module
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


async def test_no_other_program_gets_the_port_while_the_servers_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def listening() -> set[int]:
        own = psutil.Process().net_connections("tcp")
        return {one.laddr.port for one in own if one.status == psutil.CONN_LISTEN}

    before, meanwhile = listening(), set[int]()

    async def servers(*_: object) -> None:
        meanwhile.update(listening())
        raise StackError("the servers do not start", remedy="")

    monkeypatch.setattr(module, "_servers", servers)
    settings = Settings(data_dir=tmp_path, gateway_port=0).with_sources({"gateway_port": "command line"})
    with pytest.raises(StackError, match="do not start"):
        await up(settings, asyncio.Event(), lambda running, link: None, fresh=False)
    assert len(meanwhile - before) == 1
    assert listening() == before, "it is free again"
