"""The `purser` command as a user runs it: a process of its own, away from this machine's state."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, Protocol, Self

import psutil

STOP_WITHIN_S = 90
USERS_OWN = ("activities", "benchmarks", "budget", "compose", "context", "gateway", "workflows")
"""Modules that a user's project may have as well: no command imports them."""


@dataclass(frozen=True)
class Purser:
    """Runs commands with `home` as the place of all state."""

    home: Path
    env: Mapping[str, str]

    @classmethod
    def at(cls, home: Path, **settings: str) -> Self:
        """`settings` are `PURSER_*` variables without the prefix; nothing else of that kind is set."""
        env = {name: value for name, value in os.environ.items() if not name.startswith("PURSER_")}
        env |= {"XDG_STATE_HOME": str(home / "state"), "XDG_DATA_HOME": str(home / "share")}
        env["PYTHONPATH"] = str(_project(home / "project"))
        return cls(home, env | {f"PURSER_{name.upper()}": value for name, value in settings.items()})

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """A command that ends by itself."""
        return subprocess.run(
            [*command(), *arguments], env=self.env, cwd=self.home, capture_output=True, text=True, timeout=120
        )

    def json(self, *arguments: str, code: int = 0) -> Any:
        """The document that a command prints with `--json`, after checking its exit code."""
        done = self.run(*arguments, "--json")
        assert done.returncode == code, done.stdout + done.stderr
        return json.loads(done.stdout)

    def start(self, *arguments: str) -> "Started":
        """A command that runs until it is ended, in a session of its own like one in a terminal."""
        with (self.home / "stderr.log").open("ab") as log:
            process = self.spawn(*arguments, "--json", stderr=log)
        assert process.stdout is not None
        line = process.stdout.readline()
        started = Started(process, json.loads(line or "{}"))
        if not started.ready or "title" in started.ready:
            started.kill()
            raise AssertionError(f"{line}\n{(self.home / 'stderr.log').read_text()}")
        return started

    def spawn(self, *arguments: str, stderr: IO[bytes]) -> "Process":
        """Its process."""
        return subprocess.Popen(
            [*command(), *arguments],
            env=self.env,
            cwd=self.home,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            start_new_session=True,
        )

    def attach(self, *arguments: str, terminal: int) -> "Process":
        """A process whose three streams are those of a terminal."""
        return subprocess.Popen(
            [*command(), *arguments],
            env=self.env,
            cwd=self.home,
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            text=True,
            start_new_session=True,
        )

    def having(self, **settings: str) -> Self:
        """The same with further settings, or others."""
        more = {f"PURSER_{name.upper()}": value for name, value in settings.items()}
        return replace(self, env={**self.env, **more})

    @contextmanager
    def up(self, *arguments: str) -> Iterator["Started"]:
        """A running `purser up`."""
        started = self.start("up", *arguments)
        try:
            yield started
        finally:
            started.end(signal.SIGTERM)


class Process(Protocol):
    """A process that a test has started: `subprocess.Popen` is one."""

    pid: int

    @property
    def stdout(self) -> IO[str] | None: ...

    def poll(self) -> int | None: ...

    def wait(self, timeout: float | None = None) -> int: ...

    def send_signal(self, sig: int) -> None: ...

    def kill(self) -> None: ...


@dataclass(frozen=True)
class Started:
    """A command that said that it is ready."""

    process: Process
    ready: dict[str, Any]

    def kill(self) -> None:
        """Ends it without a chance to tidy up."""
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def end(self, number: signal.Signals) -> int:
        """Signal the whole group, as a terminal does, and return the exit code."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, number)
        code = self.process.wait(STOP_WITHIN_S)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code


def _project(folder: Path) -> Path:
    """A user's own project, with modules of generic names that must not be taken for Purser's."""
    folder.mkdir(exist_ok=True)
    for name in USERS_OWN:
        (folder / f"{name}.py").write_text("raise ImportError('this module is the project of a user')\n")
    return folder


def processes_naming(path: Path) -> list[list[str]]:
    """Command lines of all processes that mention `path`."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        line = process.info["cmdline"] or []
        if process.info["status"] != psutil.STATUS_ZOMBIE and any(str(path) in word for word in line):
            found.append(line)
    return found


def command() -> list[str]:
    """The installed command."""
    return [str(Path(sys.executable).with_name("purser"))]
