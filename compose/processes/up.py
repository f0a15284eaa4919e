"""`purser up`: embedded Postgres and Temporal, migrations, worker and gateway, in one process."""

import asyncio
import os
import shutil
import stat
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Protocol

import structlog

from purser.activities.runtime.background import first_of, run_together
from purser.compose.errors import AlreadyRunning, StackError
from purser.compose.http.serving import listen
from purser.compose.migrate import migrate
from purser.compose.processes.gateway import POOL_SIZE as GATEWAY_POOL_SIZE
from purser.compose.processes.gateway import renew_admin_key, run_gateway, sign_in_token
from purser.compose.processes.secrets_key import own_secrets_key
from purser.compose.processes.shared import Shared, opened_ledger
from purser.compose.processes.up_file import OTHERS_WRITE, Running, forget
from purser.compose.processes.worker import POOL_SIZE as WORKER_POOL_SIZE
from purser.compose.processes.worker import run_worker
from purser.compose.settings import Settings
from purser.compose.stack.lock import FileLock
from purser.compose.stack.ports import choose_port
from purser.compose.stack.postgres import EmbeddedPostgres
from purser.compose.stack.temporal import EmbeddedTemporal
from purser.compose.telemetry.metrics import ProcessMetrics
from purser.compose.temporal import connect

TEMPORAL_PORT, TEMPORAL_UI_PORT = 7233, 8233
WATCH_EVERY_S = 1.0

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
        announce: called once everything runs.
        fresh: whether to delete first what an earlier `up` left in the data directory.

    Raises:
        AlreadyRunning: another `up` owns the data directory.
        StackError: the configured port is taken, or a part does not start.
    """
    data = settings.data_dir
    with _sole_owner(data):
        port = _gateway_port(settings)
        if fresh:
            await _clear(data)
        async with AsyncExitStack() as parts:
            dsn, temporal, temporal_ui = await _servers(settings, parts)
            await migrate(dsn)
            found = {"dsn": dsn, "temporal_address": temporal, "gateway_port": port}
            found["secrets_key"] = settings.secrets_key or own_secrets_key(data)
            found["temporal_ui_url"] = settings.temporal_ui_url or temporal_ui
            settings = settings.model_copy(update=found)
            running = Running(
                gateway=f"http://{settings.gateway_host}:{port}",
                temporal=temporal,
                temporal_ui=temporal_ui,
                postgres=dsn,
                admin_key=await renew_admin_key(dsn, data),
                pid=os.getpid(),
            )
            link = f"{running.gateway}/sign-in#{await sign_in_token(dsn, running.admin_key)}"
            await _work(settings, stop, lambda: _publish(running, link, data, announce))


def _gateway_port(settings: Settings) -> int:
    """The configured port; without one, the default port, or any free one if that is taken."""
    if settings.source("gateway_port") == "default" or not settings.gateway_port:
        return choose_port(settings.gateway_port, settings.gateway_host)
    listen(settings.gateway_host, settings.gateway_port).close()
    return settings.gateway_port


async def _servers(settings: Settings, parts: AsyncExitStack) -> tuple[str, str, str | None]:
    """DSN, address of Temporal and address of its Web UI, each configured or of a server started here."""
    dsn, temporal, temporal_ui = settings.dsn, settings.temporal_address, None
    if dsn is None:
        postgres = EmbeddedPostgres(settings.data_dir / "postgres")
        dsn = await parts.enter_async_context(_supervised("postgres", postgres))
    if temporal is None:
        server = EmbeddedTemporal(
            settings.data_dir / "temporal",
            port=TEMPORAL_PORT,
            ui_port=TEMPORAL_UI_PORT if settings.temporal_ui else None,
            durable=True,
            namespace=settings.temporal_namespace,
        )
        temporal = await parts.enter_async_context(_supervised("temporal", server))
        temporal_ui = server.ui_url
    return dsn, temporal, temporal_ui


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


async def _work(settings: Settings, stop: asyncio.Event, publish: Callable[[], None]) -> None:
    polling, serving = asyncio.Event(), asyncio.Event()
    async with opened_ledger(settings, WORKER_POOL_SIZE + GATEWAY_POOL_SIZE) as ledger:
        metrics = ProcessMetrics()
        shared = Shared(metrics, ledger, await connect(settings, metrics.temporal.runtime))
        await run_together(
            run_worker(settings, stop, polling.set, shared),
            run_gateway(settings, stop, serving.set, shared),
            _when_ready((polling, serving), stop, publish),
        )


async def _when_ready(events: tuple[asyncio.Event, ...], stop: asyncio.Event, publish: Callable[[], None]) -> None:
    for event in events:
        await first_of(event.wait(), stop.wait())
    if all(event.is_set() for event in events):
        publish()


def _publish(running: Running, link: str, data: Path, announce: Announce) -> None:
    running.write(data)
    announce(running, link)


@contextmanager
def _sole_owner(data: Path) -> Iterator[None]:
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    if {data.lstat().st_uid, data.stat().st_uid} != {os.geteuid()}:
        # The default for root is in /var/tmp, where any user may have created it first, even as a symbolic link.
        raise StackError(
            f"{str(data)!r} belongs to another user", remedy="Choose a directory of yours with --data DIR."
        )
    data.chmod(stat.S_IMODE(data.stat().st_mode) & ~OTHERS_WRITE)
    lock = FileLock(data / "up.lock")
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
