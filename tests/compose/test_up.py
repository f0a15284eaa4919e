"""`purser up` on real processes."""

import asyncio
import os
import signal
import socket
import stat
from pathlib import Path

import asyncpg
import httpx
import psutil
import pytest
from temporalio.client import Client, WorkflowExecutionStatus

from compose.stack.ports import LOOPBACK
from tests.support.purser import Purser, processes_naming

pytestmark = pytest.mark.stack


@pytest.fixture
def purser(tmp_path: Path) -> Purser:
    return Purser.at(tmp_path)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_everything_that_was_started(purser: Purser, data: Path, number: signal.Signals) -> None:
    started = purser.start("up", "--data", str(data), "--port", "0")
    assert len(processes_naming(data)) >= 3, "up, postgres and temporal"
    assert httpx.get(f"{started.ready['gateway']}/readyz").status_code == 200

    assert started.end(number) == 0

    assert processes_naming(data) == []
    assert not (data / "up.json").exists()


def test_the_addresses_are_stored_for_this_user_only(purser: Purser, data: Path) -> None:
    with purser.up("--data", str(data), "--port", "0") as started:
        assert set(started.ready) == {"gateway", "temporal", "temporal_ui", "postgres", "admin_key"}
        assert stat.S_IMODE((data / "up.json").stat().st_mode) == 0o600
        assert httpx.get(started.ready["temporal_ui"]).status_code == 200


def test_a_second_up_says_so_and_breaks_nothing(purser: Purser, data: Path) -> None:
    with purser.up("--data", str(data), "--port", "0") as first:
        for fresh in ([], ["--fresh"]):
            problem = purser.json("up", "--data", str(data), *fresh, code=1)
            assert problem["type"] == "urn:purser:already-running"
            assert str(data) in problem["detail"]
            assert first.ready["gateway"] in problem["detail"]
        assert httpx.get(f"{first.ready['gateway']}/readyz").status_code == 200
        assert purser.json("doctor", "--data", str(data))["ok"]


async def test_database_and_workflows_survive_a_restart_and_the_admin_key_does_not(purser: Purser, data: Path) -> None:
    with purser.up("--data", str(data), "--port", "0") as first:
        await _execute(first.ready["postgres"], "CREATE TABLE kept (x int)")
        client = await Client.connect(first.ready["temporal"])
        await client.start_workflow("Nothing", id="kept", task_queue="nobody-polls")

    with purser.up("--data", str(data), "--port", "0") as second:
        await _execute(second.ready["postgres"], "INSERT INTO kept VALUES (1)")
        client = await Client.connect(second.ready["temporal"])
        assert (await client.get_workflow_handle("kept").describe()).status is WorkflowExecutionStatus.RUNNING
        assert second.ready["admin_key"] != first.ready["admin_key"]
        live = "SELECT count(*) FROM keys WHERE revoked_at IS NULL"
        assert await _execute(second.ready["postgres"], live) == 1

    with purser.up("--data", str(data), "--port", "0", "--fresh") as third:
        assert await _execute(third.ready["postgres"], "SELECT to_regclass('kept')") is None


def test_fresh_deletes_only_what_up_made(purser: Purser, data: Path) -> None:
    data.mkdir()
    (data / "mine.txt").write_text("kept")
    with purser.up("--data", str(data), "--port", "0", "--fresh"):
        pass
    assert (data / "mine.txt").read_text() == "kept"


def test_after_a_kill_the_next_up_takes_over(purser: Purser, data: Path) -> None:
    killed = purser.start("up", "--data", str(data), "--port", "0")
    killed.end(signal.SIGKILL)
    left = {line[0]: line for line in processes_naming(data)}
    assert len(left) == 2, "postgres and temporal have lost their parent"
    assert purser.json("doctor", "--data", str(data))["findings"][2]["state"] == "off"

    with purser.up("--data", str(data), "--port", "0") as started:
        assert httpx.get(f"{started.ready['gateway']}/readyz").status_code == 200

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


def test_a_taken_port_is_replaced_by_a_free_one(purser: Purser, data: Path) -> None:
    with socket.create_server((LOOPBACK, 0)) as taken:
        port = taken.getsockname()[1]
        with purser.up("--data", str(data), "--port", str(port)) as started:
            assert not started.ready["gateway"].endswith(f":{port}")
            assert httpx.get(f"{started.ready['gateway']}/readyz").status_code == 200


async def test_an_embedded_server_that_dies_is_started_again(purser: Purser, data: Path) -> None:
    with purser.up("--data", str(data), "--port", "0") as started:
        for child in psutil.Process(started.process.pid).children():
            child.kill()
        postmaster = int((data / "postgres" / "postmaster.pid").read_text().split()[0])
        os.kill(postmaster, signal.SIGKILL)

        async with asyncio.timeout(60):
            while not await _both_answer(started.ready):
                await asyncio.sleep(0.2)


async def test_configured_servers_are_used_and_left_alone(
    tmp_path: Path, data: Path, dsn: str, temporal_address: str
) -> None:
    purser = Purser.at(tmp_path, dsn=dsn, temporal_address=temporal_address)
    with purser.up("--data", str(data), "--port", "0") as started:
        assert started.ready["postgres"] == dsn
        assert started.ready["temporal"] == temporal_address
        assert started.ready["temporal_ui"] is None
        assert not (data / "postgres").exists()
    assert await _both_answer({"postgres": dsn, "temporal": temporal_address})


def test_other_commands_find_the_last_up(purser: Purser, data: Path) -> None:
    with purser.up("--data", str(data), "--port", "0") as started:
        findings = {finding["name"]: finding for finding in purser.json("doctor")["findings"]}
        assert {finding["state"] for finding in findings.values()} == {"ok"}
        assert started.ready["gateway"] in findings["gateway"]["detail"]


def test_the_database_can_be_migrated_while_the_stack_is_down(purser: Purser, data: Path) -> None:
    with purser.up("--data", str(data), "--port", "0"):
        pass
    done = purser.json("migrate", "--data", str(data))
    assert done["from"] == done["to"] is not None
    assert processes_naming(data) == []


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
