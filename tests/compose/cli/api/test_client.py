"""The client of commands, while the `up` that they use starts again with another key."""

import asyncio
import os
import threading
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest

from purser.compose.cli.api import event_lines
from purser.compose.cli.api.client import Gateway, gateway
from purser.compose.errors import RequestFailed, Unreachable
from purser.compose.processes.gateway import renew_admin_key
from purser.compose.processes.up_file import LOCK, Running, forget
from purser.compose.stack.lock import FileLock
from tests.compose.conftest import System
from tests.support.servers.commands import Commands
from tests.support.servers.raw_server import raw_server, replies


class LocalUp:
    """An `up` on a data directory of its own, whose gateway is that of `system`."""

    def __init__(self, system: System, data: Path) -> None:
        self._ready = system.ready
        self._data = data
        self.start()

    def start(self) -> None:
        """Makes a new key, as each start does, and writes where it is."""
        key = asyncio.run(renew_admin_key(self._ready["postgres"], self._data))
        Running(**{**self._ready, "admin_key": key}, pid=os.getpid()).write(self._data)

    def stop(self) -> None:
        """Removes its file."""
        forget(self._data)


@pytest.fixture
def up(system: System, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalUp]:
    for name in [name for name in os.environ if name.startswith("PURSER_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with FileLock(tmp_path / LOCK):
        yield LocalUp(system, tmp_path)


@pytest.fixture
def api(up: LocalUp, tmp_path: Path) -> Iterator[Gateway]:
    with gateway(tmp_path) as opened:
        yield opened


def test_a_command_goes_on_with_the_key_of_the_next_start(up: LocalUp, api: Gateway) -> None:
    assert api.get("/v1/budgets")["items"] is not None
    up.start()
    assert api.get("/v1/budgets")["items"] is not None


def test_it_waits_for_an_up_that_is_starting(up: LocalUp, api: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = count(1)

    def started_after_three_looks(_: float) -> None:
        if next(looks) == 3:
            thread = threading.Thread(target=up.start)
            thread.start()
            thread.join()

    up.start()  # revokes the key that the command has
    up.stop()
    monkeypatch.setattr("purser.compose.cli.api.client.time.sleep", started_after_three_looks)
    assert api.get("/v1/budgets")["items"] is not None
    assert next(looks) == 4


def test_a_key_that_is_refused_while_its_up_runs_is_an_error_at_once(up: LocalUp, api: Gateway, tmp_path: Path) -> None:
    running = Running.read(tmp_path)
    assert running is not None
    up.start()
    running.write(tmp_path)
    with pytest.raises(RequestFailed) as refused:
        api.get("/v1/budgets")
    assert refused.value.problem["status"] == 401


def test_followed_events_go_on_after_a_start(up: LocalUp, api: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_lines, "PATIENCE_S", 0.5)
    name = f"session:follow-{os.getpid()}"
    following = event_lines.read_events(api, {}, 0, follow=True)

    def changed(limit: int) -> dict[str, Any]:
        api.put(f"/v1/budgets/{name}", {"limit_tokens": limit})
        return next(event for event in following if event["scope"] == name)

    first = changed(1)
    up.start()
    assert changed(2)["id"] > first["id"]


@pytest.mark.parametrize(
    ("body", "content_type"),
    [(b"<html>", "text/html"), (b"{}", "application/json"), (b"[]", "application/json"), (b"", "text/plain")],
)
async def test_a_success_of_something_else_is_no_answer_of_a_gateway(
    tmp_path: Path, body: bytes, content_type: str
) -> None:
    async with raw_server(replies(body, content_type)) as other:
        elsewhere = Commands.at(tmp_path, url=f"http://127.0.0.1:{other.port}", api_key="k")
        for command in (("budget", "show", "session:s1"), ("tasks", "list"), ("events", "--follow")):
            refused = await asyncio.to_thread(elsewhere.json, *command, code=1)
            assert "is not the address of a gateway" in refused["detail"]
            assert "PURSER_URL" in refused["remedy"]
        findings = (await asyncio.to_thread(elsewhere.json, "doctor", code=1))["findings"]
    [found] = [one for one in findings if one["name"] == "gateway"]
    assert found["state"] == "failed"
    assert "is not the address of a gateway" in found["detail"]
    assert "PURSER_URL" in found["remedy"]


@pytest.mark.parametrize(("status", "error"), [("200 OK", Unreachable), ("400 Bad Request", RequestFailed)])
async def test_json_that_is_nested_without_end_is_no_answer(status: str, error: type[Exception]) -> None:
    async with raw_server(replies(b"[" * 100_000, "application/json", status)) as other:
        with httpx.Client(base_url=f"http://127.0.0.1:{other.port}") as client, pytest.raises(error):
            await asyncio.to_thread(Gateway(client).get, "/v1/budgets")
