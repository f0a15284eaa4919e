"""The measured gateway: a separate process with its own Postgres and Temporal."""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from purser.benchmarks.postgres import temporary_postgres
from purser.benchmarks.processor_time import family_s, processor_s
from purser.benchmarks.progress import log_step
from purser.budget.postgres.connections.pools import create_pool
from purser.compose.errors import StackError
from purser.compose.processes.gateway import renew_admin_key
from purser.compose.stack.temporal import EmbeddedTemporal

PURSER = [sys.executable, "-c", "from purser.compose.cli import main; main()"]
STOP_WITHIN_S = 30


@dataclass(frozen=True)
class System:
    """A running gateway."""

    url: str
    key: str
    """Key of an admin."""
    dsn: str
    temporal: str
    """Address of Temporal."""
    gateway: psutil.Process
    postgres: psutil.Process
    """The parent of all processes of its Postgres."""

    def cpu_seconds(self) -> dict[str, float]:
        """Processor time so far of the gateway, of all processes of its Postgres, and of the whole machine."""
        whole = psutil.cpu_times()
        return {
            "gateway": processor_s(self.gateway),
            "postgres": family_s(self.postgres),
            "machine": sum(whole) - whole.idle - getattr(whole, "iowait", 0.0),
        }

    def memory_mb(self) -> float:
        """Memory of the gateway's process, in megabytes."""
        return float(self.gateway.memory_info().rss) / 1e6


@asynccontextmanager
async def system(command: str = "gateway", **settings: str) -> AsyncIterator[System]:
    """Starts a gateway and everything that it needs; stops and removes all of it at the end.

    Args:
        command: `gateway`, or `up` for a gateway and a worker in one process.
        settings: environment variables of the process, in addition to the usual ones.
    """
    with tempfile.TemporaryDirectory(prefix="purser-bench-") as base:
        home = Path(base)
        temporal = EmbeddedTemporal(home / "temporal")
        async with temporary_postgres() as dsn:
            try:
                key = await renew_admin_key(dsn, home)
                log_step(f"starting Temporal and `purser {command}`")
                address = await temporal.start()
                process = _start(command, home, dsn, address, settings)
                try:
                    assert process.stdout is not None
                    ready = json.loads(await asyncio.to_thread(process.stdout.readline) or "{}")
                    if "gateway" not in ready:
                        problem = ready.get("detail", "stderr says why")
                        raise StackError(f"`purser {command}` did not start: {problem}", remedy=ready.get("remedy", ""))
                    gateway = psutil.Process(process.pid)
                    yield System(ready["gateway"], key, dsn, address, gateway, await _postgres_of(dsn))
                finally:
                    await asyncio.to_thread(_stop, process)
            finally:
                temporal.stop()


async def _postgres_of(dsn: str) -> psutil.Process:
    """The parent of the processes that serve connections."""
    async with await create_pool(dsn, size=1) as pool:
        return psutil.Process(psutil.Process(await pool.fetchval("select pg_backend_pid()")).ppid())


def _start(command: str, home: Path, dsn: str, temporal: str, more: dict[str, str]) -> "subprocess.Popen[str]":
    """Starts the gateway without any of the user's own settings."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PURSER_")}
    places = {"XDG_STATE_HOME": str(home), "XDG_DATA_HOME": str(home)}
    settings = {
        "PURSER_DATA_DIR": str(home / "data"),
        "PURSER_DSN": dsn,
        "PURSER_TEMPORAL_ADDRESS": temporal,
        "PURSER_GATEWAY_PORT": "0",
        "PURSER_METRICS_PORT": "0",
        "PURSER_RATE_LIMIT_PER_S": "0",
        "PURSER_LOG_LEVEL": "warning",
    }
    path = {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), env.get("PYTHONPATH", "")])}
    return subprocess.Popen(
        [*PURSER, command, "--json"],
        env=env | places | settings | more | path,
        cwd=home,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def _stop(process: "subprocess.Popen[str]") -> None:
    process.terminate()
    try:
        process.wait(STOP_WITHIN_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()
