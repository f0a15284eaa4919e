"""The gateway process: HTTP API and dashboard."""

import asyncio
import hashlib
import socket
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from budget.postgres.connection import create_pool
from compose.errors import StackError
from compose.migrate import require_schema
from compose.settings import Settings
from compose.settings.required import required
from gateway.health import health_router
from gateway.postgres.keys import Keys
from gateway.roles import Role

DEFAULT_TENANT = "default"


async def run_gateway(settings: Settings, stop: asyncio.Event, ready: Callable[[], None]) -> None:
    """Serve until `stop`; calls `ready` once requests are answered.

    Raises:
        StackError: the port is taken.
        SchemaMismatch: the database is not migrated.
    """
    dsn = required(settings, "dsn")
    await require_schema(dsn)
    async with await create_pool(dsn) as pool:
        app = FastAPI(title="Purser", version="1")
        app.include_router(health_router({"postgres": lambda: pool.execute("SELECT 1")}))
        await serve(app, settings.gateway_host, settings.gateway_port, stop, ready)


async def serve(app: FastAPI, host: str, port: int, stop: asyncio.Event, ready: Callable[[], None]) -> None:
    """Run an ASGI application on `host:port` until `stop`; calls `ready` once it listens."""
    server = _Server(uvicorn.Config(app, log_config=None, lifespan="on", timeout_graceful_shutdown=5))
    with _listen(host, port) as listener:
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        stopping = asyncio.create_task(stop.wait())
        starting = asyncio.create_task(server.listening.wait())
        try:
            await asyncio.wait((serving, starting), return_when=asyncio.FIRST_COMPLETED)
            if server.listening.is_set():
                ready()
            await asyncio.wait((serving, stopping), return_when=asyncio.FIRST_COMPLETED)
        finally:
            server.should_exit = True
            stopping.cancel()
            starting.cancel()
            await serving


class _Server(uvicorn.Server):
    """A server that leaves signals to its caller and says when it listens."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = asyncio.Event()

    def capture_signals(self) -> nullcontext[None]:  # type: ignore[override]
        return nullcontext()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self.listening.set()


def _listen(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port), backlog=2_048)
    except OSError as error:
        raise StackError(
            f"cannot listen on {host}:{port}: {error.strerror}",
            remedy="Choose another port with --port or PURSER_GATEWAY_PORT (0: any free one).",
        ) from error


async def renew_admin_key(dsn: str, owner: Path) -> str:
    """Make the admin key of one local `up`, and revoke the one that it had before.

    Args:
        owner: Data directory of that `up`: others on the same database keep theirs.
    """
    async with await create_pool(dsn, size=1) as pool:
        made = await Keys(pool).create(DEFAULT_TENANT, _key_name(owner), Role.ADMIN, by="purser up", replace=True)
    return made.secret


def _key_name(owner: Path) -> str:
    return f"local-admin-{hashlib.sha256(str(owner.resolve()).encode()).hexdigest()[:6]}"
