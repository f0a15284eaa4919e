"""`purser up`: embedded Postgres and Temporal, migrations, worker and gateway, in one process."""

import asyncio
import os
import shutil
import socket
import stat
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Protocol

import structlog

from purser.compose.errors import AlreadyRunning, StackError
from purser.compose.http.serving import listen, listen_near, port_of
from purser.compose.migrate import migrate
from purser.compose.processes.secrets_key import own_secrets_key
from purser.compose.processes.up_file import LOCK, OTHERS_WRITE, Running, forget
from purser.compose.processes.warming import warm_up_models
from purser.compose.settings import Settings
from purser.compose.stack.lock import FileLock
from purser.compose.stack.postgres import EmbeddedPostgres
from purser.compose.stack.temporal import EmbeddedTemporal

TEMPORAL_PORT, TEMPORAL_UI_PORT = 7233, 8233
WATCH_EVERY_S = 1.0
WORK = "purser.compose.processes.gateway_and_worker"
"""Imported in a thread while the servers start, which takes as long."""

log = structlog.get_logger(__name__)


class EmbeddedServer(Protocol):
    """An embedded server that can be started, watched and stopped."""

    async def start(self) -> str: ...

    def is_running(self) -> bool: ...

    def stop(self) -> None: ...


Announce = Callable[[Running, str], None]
"""Called once, with a sign-in link, when requests are answered and the task queue is polled."""


async def up(settings: Settings, stop: asyncio.Event, announce: Announce, *, fresh: bool) -> None:
    """Run everything until `stop` is set, then stop only what was started here.

    Args:
        settings: a configured `dsn` or `temporal_address` is used as it is; otherwise the embedded server runs.
        stop: ends the process when set.
        announce: called once everything runs; never if `stop` is set before.
        fresh: whether to delete first what an earlier `up` left in the data directory.

    Raises:
        AlreadyRunning: another `up` owns the data directory.
        StackError: the configured port is taken, or a part does not start.
    """
    data = settings.data_dir
    # The port is taken from now on: connections wait until they are served.
    with _sole_owner(data), _listen(settings) as listener:
        port = port_of(listener)
        if fresh:
            await _clear(data)
        async with AsyncExitStack() as parts:
            importing = asyncio.create_task(asyncio.to_thread(import_module, WORK))
            dsn, temporal, temporal_ui = await _servers(settings, parts)
            await importing
            if stop.is_set():
                return
            from purser.compose.processes.gateway import renew_admin_key, sign_in_token
            from purser.compose.processes.gateway_and_worker import run_gateway_and_worker

            found = {"dsn": dsn, "temporal_address": temporal, "gateway_port": port}
            found["secrets_key"] = settings.secrets_key or own_secrets_key(data)
            found["temporal_ui_url"] = settings.temporal_ui_url or temporal_ui
            settings = settings.model_copy(update=found)
            running = Running(
                gateway=settings.gateway_url,
                temporal=temporal,
                temporal_ui=temporal_ui,
                postgres=dsn,
                admin_key=await renew_admin_key(dsn, data),
                pid=os.getpid(),
            )
            link = f"{running.gateway}/sign-in#{await sign_in_token(dsn, running.admin_key)}"
            await run_gateway_and_worker(settings, stop, lambda: _publish(running, link, data, announce), listener)


def _listen(settings: Settings) -> socket.socket:
    """Listen on the configured port; without one, on the default port, or on any free one if that is taken."""
    chosen = listen_near if settings.source("gateway_port") == "default" else listen
    return chosen(settings.gateway_host, settings.gateway_port)


async def _servers(settings: Settings, parts: AsyncExitStack) -> tuple[str, str, str | None]:
    """DSN of the migrated database, address of Temporal and address of its Web UI."""
    starts = asyncio.create_task(_database(settings, parts)), asyncio.create_task(_temporal(settings, parts))
    # If one fails, the other is not cut off: a server is stopped only once it runs.
    await asyncio.wait(starts)
    # Of both: asyncio would log a failure that nobody has asked for.
    for failure in filter(None, [start.exception() for start in starts]):
        raise failure
    return starts[0].result(), *starts[1].result()


async def _database(settings: Settings, parts: AsyncExitStack) -> str:
    """DSN of the migrated database, configured or of a server started here."""
    dsn = settings.dsn
    if dsn is None:
        server = EmbeddedPostgres(settings.data_dir / "postgres")
        dsn = await parts.enter_async_context(_supervised("postgres", server))
    await migrate(dsn)
    return dsn


async def _temporal(settings: Settings, parts: AsyncExitStack) -> tuple[str, str | None]:
    """Address of Temporal and, if it is started here, of its Web UI."""
    if settings.temporal_address is not None:
        return settings.temporal_address, None
    server = EmbeddedTemporal(
        settings.data_dir / "temporal",
        port=TEMPORAL_PORT,
        ui_port=TEMPORAL_UI_PORT if settings.temporal_ui else None,
        durable=True,
        namespace=settings.temporal_namespace,
    )
    return await parts.enter_async_context(_supervised("temporal", server)), server.ui_url


@asynccontextmanager
async def _supervised(name: str, part: EmbeddedServer) -> AsyncIterator[str]:
    """Start a server, restart it whenever it dies, and stop it at the end."""
    try:
        address = await part.start()
        watch = asyncio.create_task(_watch(name, part))
        try:
            yield address
        finally:
            watch.cancel()
            await asyncio.wait((watch,))
    finally:
        await asyncio.to_thread(part.stop)


async def _watch(name: str, part: EmbeddedServer) -> None:
    while True:
        await asyncio.sleep(WATCH_EVERY_S)
        if not part.is_running():
            log.warning("an embedded server died and is restarted", server=name)
            try:
                await part.start()
            except Exception:
                log.exception("an embedded server did not restart", server=name)


def _publish(running: Running, link: str, data: Path, announce: Announce) -> None:
    running.write(data)
    announce(running, link)
    warm_up_models()


@contextmanager
def _sole_owner(data: Path) -> Iterator[None]:
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    if {data.lstat().st_uid, data.stat().st_uid} != {os.geteuid()}:
        # The default for root is in /var/tmp, where any user may have created it first, even as a symbolic link.
        raise StackError(
            f"{str(data)!r} belongs to another user", remedy="Choose a directory of yours with --data DIR."
        )
    data.chmod(stat.S_IMODE(data.stat().st_mode) & ~OTHERS_WRITE)
    lock = FileLock(data / LOCK)
    if not lock.try_acquire():
        other = Running.read(data)
        raise AlreadyRunning(
            f"another `purser up` runs on {str(data)!r}" + (f" at {other.gateway}" if other else ""),
            remedy="Use that one, stop it with ctrl-C, or choose another directory with --data DIR.",
        )
    try:
        yield
    finally:
        forget(data)
        lock.release()


async def _clear(data: Path) -> None:
    postgres = EmbeddedPostgres(data / "postgres")
    if (data / "postgres" / "postmaster.pid").exists():
        await postgres.start()
        await asyncio.to_thread(postgres.stop)
    for part in (data / "postgres", data / "temporal"):
        if part.exists():
            await asyncio.to_thread(shutil.rmtree, part)
