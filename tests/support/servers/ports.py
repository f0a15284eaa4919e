"""Ports of servers that tests start."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager

from purser.compose.stack.ports import LOOPBACK


@contextmanager
def reserved_port() -> Iterator[int]:
    """A port for servers that come and go: it is bound until the end of the block, so that no other process gets it."""
    with socket.socket() as reserved:
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reserved.bind((LOOPBACK, 0))
        yield reserved.getsockname()[1]
