"""Serve an ASGI application until a stop event is set."""

import asyncio
import socket
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from purser.activities.runtime.background import first_of
from purser.compose.errors import StackError
from purser.compose.http.connections import ConnectionLimits, Connections
from purser.compose.http.protocol import LimitedProtocol

GRACE_S = 5
"""Default time in seconds for requests in progress to finish."""
CUT_OFF_S = 5
"""Seconds in which requests that were cut off record what they have cost."""
BACKLOG = 2_048
"""Connections that wait in the kernel to be accepted."""
ACCEPT_BATCH = 16
"""Connections that the event loop accepts before it continues other work: accepting a thousand takes a second."""
USUAL_LIMITS = ConnectionLimits()


async def after(event: asyncio.Event, seconds: float, then: asyncio.Event) -> None:
    """Set `then` some seconds after `event` is set."""
    await event.wait()
    await asyncio.sleep(seconds)
    then.set()


async def serve(
    app: ASGIApp,
    listener: socket.socket,
    stop: asyncio.Event,
    ready: Callable[[], None],
    *,
    grace_s: int = GRACE_S,
    limits: ConnectionLimits = USUAL_LIMITS,
) -> None:
    """Run an ASGI application on a listening socket until `stop`, then close it; calls `ready` once it serves.

    Once `stop` is set it accepts no connection, and requests in progress have `grace_s` seconds to finish. Those that
    have not are cancelled, and have `CUT_OFF_S` seconds to end.

    Args:
        app: the application.
        listener: an open socket, from `listen` or `listen_locally`; closed at the end.
        stop: ends the server when set.
        ready: called once the server accepts connections.
        grace_s: seconds for requests in progress.
        limits: connection limits for its clients.
    """
    is_own = listener.family == socket.AF_UNIX
    config = uvicorn.Config(
        app,
        http=partial(LimitedProtocol, Connections(limits)),  # type: ignore[arg-type] # it is only called
        backlog=ACCEPT_BATCH,
        ws="none",
        log_config=None,
        access_log=False,
        timeout_keep_alive=limits.keep_alive_s,
        timeout_graceful_shutdown=grace_s,
        # Another process of this gateway forwards address and scheme of the client.
        forwarded_allow_ips="*" if is_own else None,
    )
    server = Server(config)
    with listener:
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            await first_of(asyncio.wait([serving]), server.listening.wait())
            if server.listening.is_set():
                ready()
            await first_of(asyncio.wait([serving]), stop.wait())
        finally:
            server.should_exit = True
            await serving
            if cut_off := server.server_state.tasks:  # the caller closes what they need to end
                await asyncio.wait(cut_off, timeout=CUT_OFF_S)


class Server(uvicorn.Server):
    """A server that leaves signals to its caller and sets an event once it listens."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = asyncio.Event()

    def capture_signals(self) -> nullcontext[None]:  # type: ignore[override]
        return nullcontext()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        for listener in sockets or ():
            listener.listen(BACKLOG)  # asyncio uses `backlog` for both and has set the smaller figure
        self.listening.set()


def listen(host: str, port: int, *, shared: bool = False) -> socket.socket:
    """Open a listening socket with TCP_NODELAY.

    Args:
        host, port: its address; port 0 means any free one.
        shared: whether other processes of this user may listen there too; the kernel spreads connections over them.

    Raises:
        StackError: the port is taken, or the address cannot be bound.
    """
    try:
        listener = socket.create_server((host, port), family=_family(host), backlog=BACKLOG, reuse_port=shared)
    except OSError as error:
        raise _taken(host, port, error) from error
    # asyncio sets it only on sockets that name their protocol; without it a response waits 40 ms for an ACK.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def listen_near(host: str, port: int) -> socket.socket:
    """Like `listen`, on any free port if this one is taken."""
    try:
        return listen(host, port)
    except StackError:
        return listen(host, 0)


def reserve(host: str, port: int) -> socket.socket:
    """Bind a port on which several processes will listen: while this socket is open, no other program gets the port.

    Raises:
        StackError: the port is taken, or the address cannot be bound.
    """
    reserved = socket.socket(_family(host))
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    if port:
        listen(host, port).close()  # a socket that may share its port does not notice that another one listens
        # Connections of an earlier process may be closing. A port of the system's choice has none, and stays closed to
        # others.
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        reserved.bind((host, port))
    except OSError as error:
        reserved.close()
        raise _taken(host, port, error) from error
    return reserved


def port_of(listener: socket.socket) -> int:
    """The port of a bound socket."""
    port: int = listener.getsockname()[1]
    return port


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def _taken(host: str, port: int, error: OSError) -> StackError:
    return StackError(
        f"cannot listen on {host}:{port}: {error.strerror}",
        remedy="Choose another port: --port, PURSER_GATEWAY_PORT, PURSER_METRICS_PORT and "
        "PURSER_WORKER_METRICS_PORT take 0 for any free one.",
    )


def listen_locally(path: Path) -> socket.socket:
    """Open a listening socket for other processes of this machine, in the place of one that a dead process has left."""
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen(BACKLOG)
    return listener
