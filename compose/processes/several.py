"""The processes of one gateway: a supervisor forks, replaces and stops them.

The supervisor has imported what a gateway needs, so that a replacement serves at once and shares that memory. It runs
neither an event loop nor a thread, which do not survive a fork, and serves nothing itself.
"""

import asyncio
import os
import select
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

import structlog

from purser.activities.runtime.background import backoff_s
from purser.compose.signals import stop_signals

STEADY_S = 30.0
"""Seconds after which the end of a process counts as its first."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a process among those of its gateway."""

    number: int = 0
    """The first process, 0, keeps the pages and serves the metrics of all."""
    count: int = 1
    folder: Path = Path()
    """Folder of the sockets on which these processes reach one another."""
    life: int = -1
    """Descriptor that reads its end once the supervisor is gone."""
    reports: int = -1
    """Descriptor on which a process reports that it serves."""

    @property
    def others(self) -> range:
        """Numbers of all processes but the first."""
        return range(1, self.count)

    def socket(self, number: int) -> Path:
        """The socket of a process: it serves pages if it is the first, and else its own metrics."""
        return self.folder / str(number)

    def report_ready(self) -> None:
        """Tell the supervisor that this process serves."""
        os.write(self.reports, bytes([self.number]))

    def stop_without_supervisor(self, stop: asyncio.Event) -> None:
        """Set `stop` if the supervisor is killed, so that nothing keeps its port."""
        loop = asyncio.get_running_loop()

        def gone() -> None:
            loop.remove_reader(self.life)
            stop.set()

        loop.add_reader(self.life, gone)


ALONE = Place()


def fork_processes(count: int, announce: Callable[[], None]) -> Place:
    """Return in each process that is forked; the supervisor exits here, once all have ended.

    The first one starts alone, so that a wrong configuration is reported once; the gateway then fails with its exit
    code. Any that ends later is replaced.

    Args:
        count: number of processes.
        announce: called in the supervisor once all of them serve.
    """
    folder = Path(mkdtemp(prefix="purser-gateway-"))
    outcome = _Supervisor(count, folder, announce).run()
    if isinstance(outcome, Place):
        return outcome
    shutil.rmtree(folder, ignore_errors=True)
    sys.exit(outcome)


@dataclass(slots=True)
class Member:
    """One place of a gateway, and the process that has it."""

    number: int
    pid: int = 0
    """0: none runs."""
    began: float = 0.0
    ends: int = 0
    """How often in a row it has ended soon."""
    due: float = 0.0
    """When the next process starts."""
    is_ready: bool = False

    def end(self, now: float) -> None:
        """Take note of an end: the first one is replaced at once, a quick second one later, and so on."""
        self.ends = 1 if now - self.began >= STEADY_S else self.ends + 1
        self.due = now + (backoff_s(1.0, self.ends - 2) if self.ends > 1 else 0.0)
        self.pid, self.is_ready = 0, False


class _Supervisor:
    """Starts, replaces and stops processes."""

    def __init__(self, count: int, folder: Path, announce: Callable[[], None]) -> None:
        self._members = [Member(number) for number in range(count)]
        self._folder = folder
        self._announce = announce
        self._started = self._announced = self._stopping = False
        self._code = 0
        self._signals = (*stop_signals(), signal.SIGCHLD)
        self._alive, self._life = os.pipe()
        self._reports, self._report = os.pipe()
        self._woken, self._wake = os.pipe()
        for end in (self._reports, self._woken, self._wake):
            os.set_blocking(end, False)

    def run(self) -> Place | int:
        """The place of a forked process; in the supervisor the exit code."""
        signal.set_wakeup_fd(self._wake)
        for each in self._signals:
            signal.signal(each, lambda *_: None)
        while not self._stopping or any(member.pid for member in self._members):
            for member in self._due():
                # A signal that comes meanwhile is delivered afterwards, to a process that heeds it.
                signal.pthread_sigmask(signal.SIG_BLOCK, self._signals)
                member.began, member.pid = time.monotonic(), os.fork()
                place = None if member.pid else self._forked(member.number)
                signal.pthread_sigmask(signal.SIG_UNBLOCK, self._signals)
                if place:
                    return place
            select.select([self._woken, self._reports], [], [], self._pause_s())
            if any(number != signal.SIGCHLD for number in _read(self._woken)):
                self._stop()
            for number in _read(self._reports):
                self._members[number].is_ready = True
            self._started = self._started or self._members[0].is_ready
            if not self._announced and all(member.is_ready for member in self._members):
                self._announced = True
                self._announce()
            self._reap()
        return self._code

    def _forked(self, number: int) -> Place:
        """What a new process is; nothing of the supervisor is left in it."""
        signal.set_wakeup_fd(-1)
        for each in self._signals:
            signal.signal(each, signal.SIG_DFL)
        for descriptor in (self._life, self._reports, self._woken, self._wake):
            os.close(descriptor)
        return Place(number, len(self._members), self._folder, self._alive, self._report)

    def _due(self) -> Iterator[Member]:
        now = time.monotonic()
        startable = self._members if self._started else self._members[:1]
        return (member for member in startable if not self._stopping and not member.pid and member.due <= now)

    def _pause_s(self) -> float | None:
        """Seconds until a process is due; `None`: until something happens."""
        due = [] if self._stopping else [member.due for member in self._members if not member.pid]
        return max(0.0, min(due) - time.monotonic()) if self._started and due else None

    def _stop(self) -> None:
        self._stopping = True
        for member in self._members:
            if member.pid:
                os.kill(member.pid, signal.SIGTERM)

    def _reap(self) -> None:
        for member in self._members:
            ended, status = os.waitpid(member.pid, os.WNOHANG) if member.pid else (0, 0)
            if not ended:
                continue
            code = os.waitstatus_to_exitcode(status)
            member.end(time.monotonic())
            if not self._started and not self._stopping:
                self._code = max(code, 1)
                self._stop()
            elif not self._stopping:
                log.warning("a process of the gateway ended and is replaced", process=member.number, exit_code=code)


def _read(descriptor: int) -> bytes:
    """What has been written to a pipe."""
    try:
        return os.read(descriptor, 4_096)
    except BlockingIOError:
        return b""
