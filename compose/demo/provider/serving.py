"""Runs the provider on loopback inside the current process."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from starlette.types import Scope

from purser.compose.demo.provider.app import build_app
from purser.compose.demo.provider.control import Control
from purser.compose.demo.provider.recorded import Recording
from purser.compose.demo.provider.script import Script
from purser.compose.demo.provider.service_log import Served, ServiceLog
from purser.compose.demo.provider.tokens import encoding
from purser.compose.http.serving import Server

HOST = "127.0.0.1"
KEEP_ALIVE_S = 60
"""Seconds for which an idle connection stays open: longer than clients reuse theirs (httpx: 5), or one may send a
request into a connection that is being closed."""


@dataclass(frozen=True)
class Provider:
    """A provider that is listening."""

    address: str
    """Its URL, such as `http://127.0.0.1:4010`."""
    control: Control
    """Its rules, faults, held requests and recordings, which may change while it serves."""

    @property
    def api_base(self) -> str:
        """Base address for clients that use no recording."""
        return f"{self.address}/v1"

    @property
    def log(self) -> ServiceLog:
        """The log of its requests."""
        return self.control.log

    def api_base_of(self, recording: str, agent: str) -> str:
        """Base address for one agent of a recording."""
        return f"{self.address}/r/{recording}/{agent}/v1"

    def served(self) -> tuple[Served, ...]:
        """Every request so far, in order of arrival."""
        return self.log.served()


@contextlib.asynccontextmanager
async def serve_provider(
    *,
    port: int = 0,
    log: Path | None = None,
    keep_text: bool = False,
    recordings: Iterable[Recording] | Mapping[str, Recording] = (),
    script: Script | None = None,
    key: str | None = None,
) -> AsyncIterator[Provider]:
    """A provider that listens until the context ends.

    Args:
        port: port to listen on; 0: any free port.
        log: new file to which the log is written, in addition to memory.
        keep_text: whether the log includes prompts.
        recordings: conversations to serve, optionally by name.
        script: initial rules and faults.
        key: bearer key that requests must carry; None: any is accepted.

    Raises:
        OSError: the port is taken, or the log file exists or cannot be written.
    """
    await asyncio.to_thread(encoding)
    with contextlib.closing(ServiceLog(log, keep_text=keep_text)) as service_log:
        served = recordings.values() if isinstance(recordings, Mapping) else recordings
        control = Control(service_log, served, script or Script(), key)
        with socket.create_server((HOST, port)) as listener:
            # Connections inherit it. Without it, each answer of two writes waits 40 ms for an acknowledgement: asyncio
            # sets it only on sockets that were opened with an explicit protocol.
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            async with _running(control, listener):
                yield Provider(f"http://{HOST}:{listener.getsockname()[1]}", control)


@contextlib.asynccontextmanager
async def _running(control: Control, listener: socket.socket) -> AsyncIterator[None]:
    server: Server

    def hang_up(scope: Scope) -> None:
        for connection in list(server.server_state.connections):
            if getattr(connection, "client", None) == tuple(scope["client"]):
                connection.transport.abort()

    app = build_app(control, hang_up)
    config = uvicorn.Config(
        app, http="h11", lifespan="off", log_config=None, access_log=False, timeout_keep_alive=KEEP_ALIVE_S
    )
    server = Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        await server.listening.wait()
        yield
    finally:
        control.stopping.set()
        server.should_exit = True
        await serving
