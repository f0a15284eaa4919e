"""A process that has imported what Purser's commands need, and forks each command that is asked for.

Four fifths of a start are imports, and they are the same in every process of a test run. `purser gateway --processes`
forks in the same way. A request is one message on a Unix socket: the command, its environment and folder as JSON, and
its three standard streams. The answers are its process id and, once it has ended, its exit code.
"""

import gc
import json
import os
import socket
import sys
import traceback
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from selectors import EVENT_READ, BaseSelector, DefaultSelector, SelectorKey
from typing import NoReturn

from purser.activities.models.litellm_library import litellm_library
from purser.compose.cli import main
from purser.compose.cli.leaving import leave
from purser.context.tokens import warm_up
from tests.support.servers.forked import COLD, LONGEST

IMPORTED = (
    "purser.compose.cli.operations.demo",
    "purser.compose.cli.operations.gateway",
    "purser.compose.cli.operations.up",
    "purser.compose.cli.operations.worker",
    "purser.compose.processes.gateway",
    "purser.compose.processes.gateway_and_worker",
    "purser.compose.processes.up",
    "purser.compose.processes.worker",
)
STREAMS = 3


def serve(place: Path, *, warm: bool) -> NoReturn:
    """Listen at `place`, and say so on the standard output. `warm` takes the imports before the first command."""
    if warm:
        for name in IMPORTED:
            import_module(name)
        litellm_library()
        warm_up(litellm=True).join()
    gc.collect()
    gc.freeze()  # or a collection would copy all of it in each process
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener, DefaultSelector() as watched:
        listener.bind(str(place))
        listener.listen()
        watched.register(listener, EVENT_READ, (0, listener))
        os.write(1, b"ready\n")
        while True:
            for key, _ in watched.select():
                if key.fileobj is listener:
                    _start(listener.accept()[0], watched)
                else:
                    _report(key, watched)


def _start(asked: socket.socket, watched: BaseSelector) -> None:
    """Fork a command and say its process id; its end is watched from now on."""
    message, streams, _, _ = socket.recv_fds(asked, LONGEST, STREAMS)
    pid = os.fork()
    if pid == 0:
        asked.close()
        for key in watched.get_map().values():
            key.data[1].close()
        _become(message, streams)
    for stream in streams:
        os.close(stream)
    with suppress(OSError):  # the test may have ended without waiting
        asked.send(str(pid).encode())
    watched.register(os.pidfd_open(pid), EVENT_READ, (pid, asked))


def _report(ended: SelectorKey, watched: BaseSelector) -> None:
    """Say the exit code of a command."""
    pid, asked = ended.data
    watched.unregister(ended.fd)
    os.close(ended.fd)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with suppress(OSError):
        asked.send(str(code).encode())
    asked.close()


def _become(message: bytes, streams: list[int]) -> NoReturn:
    """Be the command, in a session of its own like one in a terminal."""
    try:
        wanted = json.loads(message)
        os.setsid()
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        os.environ.clear()
        os.environ.update(wanted["env"])
        os.chdir(wanted["cwd"])
        sys.path[:1] = wanted["env"]["PYTHONPATH"].split(os.pathsep)
        sys.argv = ["purser", *wanted["arguments"]]
        main()
    except SystemExit as end:
        leave(int(end.code or 0))
    except BaseException:
        traceback.print_exc()
    leave(1)


if __name__ == "__main__":
    serve(Path(sys.argv[1]), warm=sys.argv[2:] != [COLD])
