"""`purser up` on real processes."""

import asyncio
import gc
import os
import signal
import stat
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import psutil
import pytest
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowHandle, WorkflowHistory
from temporalio.service import RPCError

from purser.compose.database import database
from purser.compose.migrate import current, head
from purser.compose.processes.up import up
from purser.compose.processes.up_file import Running, command_settings
from purser.compose.settings import Settings
from tests.support.servers.clients import PATIENCE_S
from tests.support.servers.forked import Forks
from tests.support.servers.purser import Purser, processes_naming
from tests.support.servers.terminal import Terminal
from tests.support.world import eventually

pytestmark = pytest.mark.stack


@pytest.fixture
def purser(forks: Forks, tmp_path: Path) -> Purser:
    return forks.purser(tmp_path)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@dataclass(frozen=True)
class RunningUp:
    """A running `purser up`, other commands, and its data directory."""

    commands: Purser
    data: Path
    ready: dict[str, Any]


@pytest.fixture(scope="module")
def running_up(forks: Forks, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningUp]:
    """A `purser up`, started as a user does, for tests that do not change it. At the end a signal stops all of it."""
    home = tmp_path_factory.mktemp("running_up")
    data = home / "data"
    started = Purser.at(home).start("up", "--data", str(data), "--port", "0")
    assert len(processes_naming(data)) >= 3, "up, postgres and temporal"
    yield RunningUp(forks.purser(home), data, started.ready)
    assert started.end(signal.SIGTERM) == 0
    assert processes_naming(data) == []
    assert not (data / "up.json").exists()


def test_the_addresses_are_stored_for_this_user_only(running_up: RunningUp) -> None:
    assert set(running_up.ready) == {"gateway", "temporal", "temporal_ui", "postgres", "admin_key"}
    assert stat.S_IMODE((running_up.data / "up.json").stat().st_mode) == 0o600
    assert running_up.ready["temporal_ui"] is None, "it asks for no sign-in, so it runs on request only"
    server = psutil.Process(int((running_up.data / "temporal" / "temporal.pid").read_text()))
    listening = [one.laddr for one in server.net_connections("tcp") if one.status == psutil.CONN_LISTEN]
    assert {address.ip for address in listening} == {"127.0.0.1"}
    assert int(running_up.ready["temporal"].rpartition(":")[2]) in {address.port for address in listening}


def test_a_key_for_secrets_is_made_for_this_user_only(running_up: RunningUp) -> None:
    assert stat.S_IMODE((running_up.data / "secrets.key").stat().st_mode) == 0o600


def test_other_commands_find_the_last_up(running_up: RunningUp) -> None:
    findings = {finding["name"]: finding for finding in running_up.commands.json("doctor")["findings"]}
    assert {finding["state"] for finding in findings.values()} == {"ok"}
    assert running_up.ready["gateway"] in findings["gateway"]["detail"]


async def test_the_worker_begins_a_task_at_once_that_the_gateway_starts(running_up: RunningUp) -> None:
    task = {
        "session_id": "s1",
        "task_id": "t1",
        "input": "x",
        "agents": [{"id": "a", "model": "m", "instructions": "x"}],
    }
    headers = {"Authorization": f"Bearer {running_up.ready['admin_key']}"}
    answer = httpx.post(f"{running_up.ready['gateway']}/v1/tasks", json=task, headers=headers, timeout=PATIENCE_S)
    assert answer.status_code == 202, answer.text
    workflow = (await Client.connect(running_up.ready["temporal"])).get_workflow_handle(answer.json()["workflow_id"])
    history = await eventually(lambda: history_of(workflow))
    assert history.events[0].workflow_execution_started_event_attributes.eager_execution_accepted


async def history_of(workflow: WorkflowHandle[Any, Any]) -> WorkflowHistory | None:
    """Returns the history of a workflow; `None` before it starts."""
    try:
        return await workflow.fetch_history()
    except RPCError:
        return None


@pytest.mark.parametrize("fresh", [[], ["--fresh"]], ids=["plain", "fresh"])
def test_a_second_up_says_so_and_breaks_nothing(running_up: RunningUp, fresh: list[str]) -> None:
    problem = running_up.commands.json("up", "--data", str(running_up.data), *fresh, code=1)
    assert problem["type"] == "urn:purser:already-running"
    assert str(running_up.data) in problem["detail"]
    assert running_up.ready["gateway"] in problem["detail"]
    assert httpx.get(f"{running_up.ready['gateway']}/readyz", timeout=PATIENCE_S).status_code == 200


async def test_database_and_workflows_survive_a_restart_and_the_admin_key_does_not(data: Path) -> None:
    async with running(data) as first:
        await _execute(first.postgres, "CREATE TABLE kept (x int)")
        client = await Client.connect(first.temporal)
        await client.start_workflow("Nothing", id="kept", task_queue="nobody-polls")
    assert processes_naming(data) == []
    found = await asyncio.gather(*(_revision(data) for _ in range(2)))
    assert found == [head()] * 2, "commands use the database while nothing runs, one after the other"

    async with running(data) as second:
        await _execute(second.postgres, "INSERT INTO kept VALUES (1)")
        client = await Client.connect(second.temporal)
        assert (await client.get_workflow_handle("kept").describe()).status is WorkflowExecutionStatus.RUNNING
        assert second.admin_key != first.admin_key
        live = "SELECT count(*) FROM keys WHERE revoked_at IS NULL"
        assert await _execute(second.postgres, live) == 1


async def test_a_fresh_start_deletes_only_what_an_earlier_one_made(data: Path, dsn: str, temporal_address: str) -> None:
    for made in ("postgres", "temporal", "mine"):
        (data / made).mkdir(parents=True)
        (data / made / "file").touch()
    async with running(data, fresh=True, dsn=dsn, temporal_address=temporal_address):
        pass
    assert [file.parent.name for file in data.glob("*/file")] == ["mine"]


@pytest.mark.proof
async def test_after_a_kill_the_next_up_takes_over_starts_again_what_dies_and_ctrl_c_stops_all(
    purser: Purser, data: Path
) -> None:
    killed = purser.start("up", "--data", str(data), "--port", "0")
    killed.end(signal.SIGKILL)
    left = {line[0]: line for line in processes_naming(data)}
    assert len(left) == 2, "postgres and temporal have lost their parent"
    assert purser.json("doctor", "--data", str(data))["findings"][2]["state"] == "off"

    with purser.up("--data", str(data), "--port", "0", "--temporal-ui") as started:
        assert httpx.get(f"{started.ready['gateway']}/readyz", timeout=PATIENCE_S).status_code == 200
        assert httpx.get(started.ready["temporal_ui"], timeout=PATIENCE_S).status_code == 200, "it runs on request"
        for child in psutil.Process(started.process.pid).children():
            child.kill()
        postmaster = int((data / "postgres" / "postmaster.pid").read_text().split()[0])
        os.kill(postmaster, signal.SIGKILL)
        async with asyncio.timeout(60):
            while not await _both_answer(started.ready):
                await asyncio.sleep(0.2)
        assert started.end(signal.SIGINT) == 0

    assert processes_naming(data) == []


@pytest.mark.proof
def test_the_end_of_its_terminal_stops_it_also_while_it_starts(purser: Purser, data: Path) -> None:
    with Terminal.running(purser, "up", "--data", str(data), "--port", "0") as terminal:
        while not (data / "up.lock").exists():
            time.sleep(0.01)
        terminal.hang_up()
        terminal.wait_for("Stopping")
        assert terminal.ended() == 1, "it was never up"
    assert processes_naming(data) == []


def test_a_directory_of_another_user_is_refused(purser: Purser, data: Path) -> None:
    if os.geteuid() == 0:
        data.mkdir()
        os.chown(data, 65_534, 65_534)
    else:
        data = Path("/")
    problem = purser.json("up", "--data", str(data), code=1)
    assert "belongs to another user" in problem["detail"]
    assert "--data" in problem["remedy"]


async def test_where_neither_server_starts_one_failure_is_reported(
    data: Path, caplog: pytest.LogCaptureFixture
) -> None:
    data.mkdir()
    for server in ("postgres", "temporal"):
        (data / server).touch()
    with pytest.raises(FileExistsError):
        await up(Settings(data_dir=data, gateway_port=0), asyncio.Event(), lambda *_: None, fresh=False)
    gc.collect()
    assert "never retrieved" not in caplog.text


@pytest.mark.proof
async def test_configured_servers_are_used_and_left_alone(
    forks: Forks, tmp_path: Path, data: Path, dsn: str, temporal_address: str
) -> None:
    purser = forks.purser(tmp_path, dsn=dsn, temporal_address=temporal_address)
    with purser.up("--data", str(data), "--port", "0") as started:
        assert started.ready["postgres"] == dsn
        assert started.ready["temporal"] == temporal_address
        assert started.ready["temporal_ui"] is None
        assert not (data / "postgres").exists()
    assert await _both_answer({"postgres": dsn, "temporal": temporal_address})


@asynccontextmanager
async def running(data: Path, *, fresh: bool = False, **servers: Any) -> AsyncIterator[Running]:
    """Run everything that `purser up` runs, in this process."""
    settings = Settings(
        data_dir=data, gateway_port=0, metrics_port=0, worker_metrics_port=0, dashboard=False, **servers
    )
    stop, ready = asyncio.Event(), asyncio.get_running_loop().create_future()
    task = asyncio.create_task(up(settings, stop, lambda running, _: ready.set_result(running), fresh=fresh))
    try:
        await asyncio.wait((task, ready), return_when=asyncio.FIRST_COMPLETED)
        assert ready.done()
        yield ready.result()
    finally:
        stop.set()
        await task


async def _revision(data: Path) -> str | None:
    async with database(command_settings(data)) as dsn:
        return await current(dsn)


async def _execute(dsn: str, statement: str) -> object:
    connection = await asyncpg.connect(dsn)
    try:
        return await connection.fetchval(statement)
    finally:
        await connection.close()


async def _both_answer(ready: dict[str, str]) -> bool:
    try:
        await _execute(ready["postgres"], "SELECT 1")
        return await (await Client.connect(ready["temporal"])).service_client.check_health()
    except (OSError, asyncpg.PostgresError, RuntimeError):
        return False
