"""Choice of free TCP ports on loopback."""

import os
import socket
from itertools import count

LOOPBACK = "127.0.0.1"
FIRST, PORTS = 15_000, 15_000
"""Below the ports that systems give to clients (from 32768 on Linux, 49152 elsewhere): any connection could take such a
port before a server listens on it."""
_STEP = 61
_choices = count()


def is_free(port: int) -> bool:
    """Whether a server could listen on `port` now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
        return True


def free_port() -> int:
    """A port that no process listens on at this moment; processes that choose at the same time begin apart."""
    while True:
        port = FIRST + (os.getpid() * _STEP + next(_choices)) % PORTS
        if is_free(port):
            return port


def choose_port(preferred: int) -> int:
    """`preferred` if it is free, else any free port; 0 means any."""
    return preferred if preferred and is_free(preferred) else free_port()
