"""The demo's own stack: a complete Purser in a temporary directory, on free ports, separate from any other."""

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from purser.compose.processes.up import up
from purser.compose.processes.up_file import Running
from purser.compose.settings import Settings, load_settings

ROOT_PARENT = Path("/var/tmp")
"""Run by root, the embedded Postgres makes every parent directory accessible, so none of root's own may be one."""


@contextmanager
def temporary_directory() -> Iterator[Path]:
    """A directory that is removed afterwards."""
    parent = ROOT_PARENT if os.geteuid() == 0 else None
    data = Path(tempfile.mkdtemp(prefix="purser-demo-", dir=parent))
    try:
        yield data
    finally:
        shutil.rmtree(data, ignore_errors=True)


def stack_settings(data: Path, *, provider: str | None) -> Settings:
    """Settings of the demo's stack, independent of the user's own installation.

    Args:
        data: directory of all its data.
        provider: address of the demo's provider; `None`: the user's own provider settings apply.
    """
    own: dict[str, Any] = {"data_dir": data, "gateway_port": 0, "metrics_port": 0, "log_level": "warning"}
    if provider is not None:
        return Settings(**own, allowed_api_bases=(provider,))
    users = load_settings()
    names = ("provider_keys", "price_file", "unknown_price", "unknown_price_ceiling_nano_usd_per_token")
    return Settings(**own, **{name: getattr(users, name) for name in names})


@asynccontextmanager
async def running_stack(settings: Settings) -> AsyncIterator[Running]:
    """Everything that `purser up` starts, running until the context ends."""
    stop = asyncio.Event()
    ready: asyncio.Future[Running] = asyncio.get_running_loop().create_future()
    serving = asyncio.create_task(up(settings, stop, lambda running, _: ready.set_result(running), fresh=False))
    try:
        await asyncio.wait((serving, ready), return_when=asyncio.FIRST_COMPLETED)
        if ready.done():
            yield ready.result()
    finally:
        stop.set()
        # Raises what stopped the stack, if it failed.
        await serving
