"""A whole Purser of the demo's own: in a temporary directory, on free ports, apart from every other."""

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

ROOTS_PLACE = Path("/var/tmp")
"""As root the embedded Postgres opens every parent directory, so never below a directory of root's."""


@contextmanager
def temporary_directory() -> Iterator[Path]:
    """A directory that is gone afterwards."""
    parent = ROOTS_PLACE if os.geteuid() == 0 else None
    data = Path(tempfile.mkdtemp(prefix="purser-demo-", dir=parent))
    try:
        yield data
    finally:
        shutil.rmtree(data, ignore_errors=True)


def house_settings(data: Path, *, provider: str | None) -> Settings:
    """Settings that ignore this user's system.

    Args:
        data: directory of everything.
        provider: address of the demo's provider; without it the user's own provider settings apply.
    """
    own: dict[str, Any] = {"data_dir": data, "gateway_port": 0, "metrics_port": 0, "log_level": "warning"}
    if provider is not None:
        return Settings(**own, allowed_api_bases=(provider,))
    users = load_settings()
    names = ("provider_keys", "price_file", "unknown_price", "unknown_price_ceiling_nano_usd_per_token")
    return Settings(**own, **{name: getattr(users, name) for name in names})


@asynccontextmanager
async def house(settings: Settings) -> AsyncIterator[Running]:
    """Everything of `purser up`, started when entered and stopped at the end."""
    stop = asyncio.Event()
    ready: asyncio.Future[Running] = asyncio.get_running_loop().create_future()
    living = asyncio.create_task(up(settings, stop, lambda running, _: ready.set_result(running), fresh=False))
    try:
        await asyncio.wait((living, ready), return_when=asyncio.FIRST_COMPLETED)
        if ready.done():
            yield ready.result()
    finally:
        stop.set()
        # What made it die is what the caller has to hear.
        await living
