"""The embedded servers, ports and locks."""

import asyncio
import os
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from temporalio import workflow
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from purser.compose.database import connected, database
from purser.compose.errors import AlreadyRunning, SettingsError, StackError
from purser.compose.settings import Settings
from purser.compose.stack.lock import FileLock
from purser.compose.stack.ports import FIRST, LOOPBACK, PORTS, choose_port, free_port, is_free
from purser.compose.stack.postgres import EmbeddedPostgres
from purser.compose.stack.temporal import EmbeddedTemporal
from tests.support.servers.postgres_proxy import Trap, When, postgres_proxy
from tests.support.servers.purser import processes_naming


@pytest.fixture(scope="module")
def initialized(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data of a Postgres that tests start and stop: making it takes longer."""
    data = tmp_path_factory.mktemp("initialized") / "postgres"
    server = EmbeddedPostgres(data)
    asyncio.run(server.start())
    server.stop()
    return data


def test_a_free_port_is_chosen_where_the_preferred_one_is_taken() -> None:
    with socket.create_server((LOOPBACK, 0)) as taken:
        port = taken.getsockname()[1]
        assert not is_free(port)
        assert choose_port(port) != port
    assert choose_port(port) == port
    assert choose_port(0) != 0


def test_chosen_ports_are_none_that_a_connection_could_take() -> None:
    chosen = [free_port() for _ in range(50)]
    assert len(set(chosen)) == 50, "the same one is not chosen twice before it is used"
    for _ in range(50):
        with socket.create_server((LOOPBACK, 0)) as any_free:
            assert any_free.getsockname()[1] > FIRST + PORTS > max(chosen) >= min(chosen) >= FIRST


def test_a_lock_belongs_to_one_process_until_that_dies(tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys; from pathlib import Path; from purser.compose.stack.lock import FileLock;"
            "lock = FileLock(Path(sys.argv[1])); lock.acquire(); print('held', flush=True); sys.stdin.read()",
            str(tmp_path / "lock"),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        assert not FileLock(tmp_path / "lock").try_acquire()
        holder.kill()
        holder.wait()
    with FileLock(tmp_path / "lock"):
        assert not FileLock(tmp_path / "lock").try_acquire()
    with FileLock(tmp_path / "lock"):
        pass


def test_whether_a_lock_is_held_can_be_asked_without_taking_it(tmp_path: Path) -> None:
    lock = FileLock(tmp_path / "lock")
    assert not lock.is_held()
    assert not (tmp_path / "lock").exists()
    with FileLock(tmp_path / "lock"):
        assert lock.is_held()
    assert not lock.is_held()


@pytest.mark.stack
async def test_postgres_takes_its_configuration_keeps_its_data_and_reuses_a_running_server(tmp_path: Path) -> None:
    server = EmbeddedPostgres(tmp_path / "pg", {"max_connections": "17"})
    try:
        dsn = await server.start()
        async with connected(dsn) as connection:
            assert await connection.fetchval("SHOW max_connections") == "17"
            await connection.execute("CREATE TABLE kept (x int)")
        assert await EmbeddedPostgres(tmp_path / "pg").start() == dsn
        server.stop()
        assert not server.is_running()
        async with connected(await server.start()) as connection:
            assert await connection.fetchval("SELECT to_regclass('kept')") == "kept"
    finally:
        server.stop()
    assert processes_naming(tmp_path) == []


@pytest.mark.stack
async def test_stopping_postgres_waits_for_the_end_of_its_process(
    initialized: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = EmbeddedPostgres(initialized)
    await server.start()
    assert server._process is not None
    # What the package does may return earlier: it waits for the end of the pid file.
    monkeypatch.setattr(server._server, "stop", server._process.terminate)
    server.stop()
    assert not server.is_running()


@pytest.mark.stack
async def test_the_lock_of_postgres_is_next_to_its_data_so_that_users_of_a_machine_share_none(
    initialized: Path,
) -> None:
    server = EmbeddedPostgres(initialized)
    await server.start()
    try:
        assert {path.name for path in initialized.parent.iterdir()} == {"postgres", "postgres.lock"}
    finally:
        server.stop()


@pytest.mark.stack
async def test_a_postgres_whose_pid_file_is_not_written_yet_is_waited_for(initialized: Path) -> None:
    server = EmbeddedPostgres(initialized)
    try:
        pid_file = initialized / "postmaster.pid"
        pid_file.write_text(f"{os.getpid()}\n")
        starting = asyncio.create_task(server.start())
        await asyncio.sleep(0.2)
        assert not starting.done()
        pid_file.unlink()
        await starting
        assert server.is_running()
    finally:
        server.stop()


async def test_a_start_of_postgres_that_is_cancelled_ends_with_its_thread_so_that_a_stop_finds_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, begun, freed = EmbeddedPostgres(tmp_path / "pg"), threading.Event(), threading.Event()

    def start() -> str:
        begun.set()
        freed.wait()
        return "postgresql:///x"

    monkeypatch.setattr(server, "_start", start)
    starting = asyncio.create_task(server.start())
    await asyncio.to_thread(begun.wait)
    starting.cancel()
    await asyncio.wait((starting,), timeout=0.05)
    ended_early = starting.done()
    freed.set()
    await asyncio.wait((starting,))
    assert not ended_early
    assert starting.cancelled()


async def test_a_postgres_that_cannot_start_names_its_directory(tmp_path: Path) -> None:
    (tmp_path / "pg").mkdir()
    (tmp_path / "pg" / "in-the-way").touch()
    with pytest.raises(StackError) as failed:
        await EmbeddedPostgres(tmp_path / "pg").start()
    assert str(tmp_path / "pg") in str(failed.value)
    assert failed.value.remedy


async def test_a_postgres_that_does_not_start_says_why_and_does_not_advise_to_delete_its_data(
    initialized: Path,
) -> None:
    server = EmbeddedPostgres(initialized, {"shared_buffers": "a lot"})
    with pytest.raises(StackError, match=r"FATAL:.*configuration file") as failed:
        await server.start()
    assert failed.value.remedy == f"Read {str(initialized / 'log')!r}."


async def test_a_temporal_that_cannot_be_found_again_is_stopped(tmp_path: Path) -> None:
    (tmp_path / "temporal.pid").symlink_to(tmp_path / "missing" / "pid")
    with pytest.raises(FileNotFoundError):
        await EmbeddedTemporal(tmp_path).start()
    assert processes_naming(tmp_path) == []


async def test_a_temporal_that_cannot_start_names_its_log_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "temporal" / "temporal.db").mkdir(parents=True)
    server = EmbeddedTemporal(tmp_path / "temporal", durable=True)
    with pytest.raises(StackError, match="exited at once") as failed:
        await server.start()
    assert "temporal.log" in failed.value.remedy
    assert not server.is_running()


@pytest.mark.stack
async def test_two_temporals_that_choose_one_port_at_the_same_moment_do_not_share_a_server(tmp_path: Path) -> None:
    port = free_port()
    servers = [EmbeddedTemporal(tmp_path / name, port=port) for name in ("one", "other")]
    try:
        addresses = await asyncio.gather(*(server.start() for server in servers))
        assert f"{LOOPBACK}:{port}" in addresses
        assert len(set(addresses)) == 2
        assert all(server.is_running() for server in servers)
    finally:
        for server in servers:
            await asyncio.to_thread(server.stop)


@pytest.mark.stack
async def test_a_temporal_does_not_take_another_at_its_address_for_itself(tmp_path: Path) -> None:
    server = EmbeddedTemporal(tmp_path / "one")
    address = await server.start()
    await asyncio.to_thread(server.stop)
    other = EmbeddedTemporal(tmp_path / "other", port=int(address.rpartition(":")[2]))
    try:
        assert await other.start() == address
        with pytest.raises(StackError, match="exited at once"):
            await server.start()
        assert other.is_running()
    finally:
        await asyncio.to_thread(other.stop)


@pytest.mark.stack
@workflow.defn
class _Naps:
    @workflow.run
    async def run(self) -> None:
        for _ in range(4):
            await workflow.sleep(0.1)


async def test_short_timers_of_temporal_fire_without_waiting_for_a_second(temporal_client: Client) -> None:
    queue = f"naps-{os.getpid()}"
    runner = UnsandboxedWorkflowRunner()
    async with Worker(temporal_client, task_queue=queue, workflows=[_Naps], workflow_runner=runner):
        handle = await temporal_client.start_workflow(_Naps.run, id=queue, task_queue=queue)
        await handle.result()
    events = (await handle.fetch_history()).events
    started, fired = (
        [one.event_time.ToNanoseconds() / 1e9 for one in events if one.event_type == kind]
        for kind in (EventType.EVENT_TYPE_TIMER_STARTED, EventType.EVENT_TYPE_TIMER_FIRED)
    )
    # By default each takes one. The quickest, as others may wait for the processor.
    assert min(end - begin for begin, end in zip(started, fired, strict=True)) < 0.5


async def test_temporal_serves_the_configured_namespace(tmp_path: Path) -> None:
    from temporalio.client import Client

    server = EmbeddedTemporal(tmp_path / "temporal", namespace="team")
    try:
        client = await Client.connect(await server.start(), namespace="team")
        assert [workflow async for workflow in client.list_workflows()] == []
    finally:
        server.stop()
    assert not server.is_running()


async def test_a_connection_to_a_server_that_hangs_is_left_at_once(dsn: str) -> None:
    freed = asyncio.Event()

    async def use(proxied: str) -> None:
        with suppress(TimeoutError):
            async with connected(proxied) as connection, asyncio.timeout(0.2):
                await connection.execute("select 1")

    async with postgres_proxy(dsn) as proxy:
        proxy.set(Trap("select 1", When.BEFORE, freed.wait))
        left, _ = await asyncio.wait([asyncio.create_task(use(proxy.dsn))], timeout=30)
        assert left
        freed.set()


async def test_a_database_is_found_only_where_one_is(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="holds no database"):
        async with database(Settings(data_dir=tmp_path)):
            pass


async def test_a_stopped_database_is_not_opened_under_an_up_that_is_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("purser.compose.database.PATIENCE_S", 0.3)
    (tmp_path / "postgres").mkdir()
    (tmp_path / "postgres" / "PG_VERSION").write_text("18")
    with FileLock(tmp_path / "up.lock"), pytest.raises(AlreadyRunning):
        async with database(Settings(data_dir=tmp_path)):
            pass
