"""Connection limits of one server, in total and per address."""

import resource
from asyncio import BaseTransport
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, field

OTHER_FILES = 256
"""Open files that a process needs in addition to its connections: databases, Temporal, logs, libraries."""
MAX_HEADER_BYTES = 64 * 1_024
"""Bytes of the URL and all headers of one request."""
MAX_HEADERS = 100
"""Headers of one request."""
MIN_BODY_BYTES_PER_S = 32 * 1_024
"""A body that arrives more slowly than this is cut off once its time is up."""
MAX_PIPELINED = 16
"""Requests of one connection that wait for the answer to an earlier one."""
MAX_SMALL_CHUNKS = 1_024
"""Chunks of a body that may be small."""
MIN_CHUNK_BYTES = 32
"""Average size that the other chunks of a body must have: each takes time of the event loop, whatever its size."""
LINGER_S = 5
"""Seconds that a client has to end a body after the answer: the connection would be closed while it still sends."""
WRITE_STALL_S = 30
"""Seconds after which a client that reads nothing of a response is cut off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """Limits for the clients of one server."""

    connections: int = 5_000
    """Concurrent connections in total."""
    per_address: int = 2_000
    """Concurrent connections from one address."""
    header_s: float = 10
    """Seconds from the first byte of a request, or from the opening of a connection, to the end of the headers."""
    body_s: float = 30
    """Seconds for a body, in addition to the time that it takes at `MIN_BODY_BYTES_PER_S`."""
    keep_alive_s: int = 75
    """Seconds that a connection stays open between two requests."""


@dataclass(slots=True)
class Connections:
    """The open connections of one server."""

    limits: ConnectionLimits
    _open: defaultdict[str, set[BaseTransport]] = field(default_factory=lambda: defaultdict(set))
    _total: int = 0

    def admit(self, address: str, transport: BaseTransport) -> bool:
        """Count a new connection; `False` if there are too many."""
        own = self._open[address]
        if self._total >= self.limits.connections or len(own) >= self.limits.per_address:
            return False
        own.add(transport)
        self._total += 1
        return True

    def release(self, address: str, transport: BaseTransport) -> None:
        """Forget a connection that has ended; unknown ones are ignored."""
        own = self._open.get(address)
        if own is not None and transport in own:
            own.discard(transport)
            self._total -= 1
            if not own:
                del self._open[address]


def raise_file_limit() -> int:
    """Raise the soft limit of open files to the hard limit; returns the new soft limit."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):  # some systems report a hard limit that they do not grant
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def connections_of(files: int, wanted: int) -> int:
    """Number of connections that a limit of open files allows: at most `wanted`, at least one."""
    return wanted if files == resource.RLIM_INFINITY else max(1, min(wanted, files - OTHER_FILES))
