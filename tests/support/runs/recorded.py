"""Recorded conversations, run as a user runs them: with task files, a provider, `purser up` and `purser run`."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from purser.compose.demo.provider import Served, read_log
from purser.compose.stack.ports import LOOPBACK, free_port
from tests.support.servers.forked import Forks
from tests.support.servers.purser import Purser, Started

AT_ONCE = 4
"""Tasks that run at the same time."""


@dataclass(frozen=True)
class Recorded:
    """Tasks that ran, and the provider's log of them."""

    submitted: Mapping[str, dict[str, Any]]
    """Task files by id."""
    ended: Mapping[str, dict[str, Any]]
    """What `purser run` printed, by id."""
    served: tuple[Served, ...]
    """The provider's own log."""
    audit: dict[str, Any]
    """What `purser audit` printed."""

    def served_to(self, task_id: str, agent_id: str) -> list[Served]:
        """The requests of one agent; a recording has the name of its task."""
        return [one for one in self.served if (one.arrival.recording, one.arrival.agent) == (task_id, agent_id)]


def run_recorded(forks: Forks, home: Path, data: Path, count: int) -> Recorded:
    """Runs the first tasks of each data set.

    Args:
        forks: starts `purser`.
        home: an empty directory.
        data: folder of data sets.
        count: how many tasks of each.
    """
    port = free_port()
    provider = f"http://{LOOPBACK}:{port}"
    made = ["purser.compose.demo.recordings", data, "--out", home, "--count", count, "--provider", provider]
    subprocess.run(_python(*made), check=True, capture_output=True)
    files = sorted((home / "tasks").glob("*.json"))
    purser = forks.purser(home, allowed_api_bases=provider)
    with (
        _provider(home, port),
        purser.up("--port", "0", "--data", str(home / "data")) as started,
        _tools(purser, started),
        ThreadPoolExecutor(AT_ONCE) as pool,
    ):
        ended = list(pool.map(lambda file: purser.json("run", str(file)), files))
        audit = purser.json("audit")
    return Recorded(
        submitted={file.stem: json.loads(file.read_text("utf-8")) for file in files},
        ended={task["task_id"]: task for task in ended},
        served=read_log(home / "provider.jsonl"),
        audit=audit,
    )


@contextmanager
def _tools(purser: Purser, started: Started) -> Iterator[None]:
    places = {"PURSER_DSN": started.ready["postgres"], "PURSER_TEMPORAL_ADDRESS": started.ready["temporal"]}
    process = subprocess.Popen(
        _python("purser.compose.demo.tools"), env={**purser.env, **places}, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "ready\n"
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        process.stdout.close()


@contextmanager
def _provider(home: Path, port: int) -> Iterator[None]:
    log, recordings = home / "provider.jsonl", home / "recordings"
    serve = ("purser.compose.demo.provider", "--port", port, "--log", log, "--recordings", recordings)
    process = subprocess.Popen(_python(*serve), stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        assert process.stdout.readline().startswith("{"), "the provider listens"
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)
        process.stdout.close()


def _python(*arguments: object) -> list[str]:
    return [sys.executable, "-m", *map(str, arguments)]
