"""The environments of `make peers`, and work in them."""

import asyncio
import json
import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENTS = ROOT / ".venv-doors"
SETTINGS = {
    "PYTHONPATH": str(ROOT),
    # Without it LiteLLM asks another host for prices.
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "OPENAI_API_KEY": "none",
}


class PeerFailed(Exception):
    """A peer ended before it had figures; the message is the last line that it wrote."""


def installed(environment: str) -> bool:
    """Whether `make peers` has installed it."""
    return (ENVIRONMENTS / environment / ".installed").exists()


def version(environment: str, distribution: str) -> str:
    """Version of a distribution in an environment."""
    paths = [str(path) for path in (ENVIRONMENTS / environment / "lib").glob("python*/site-packages")]
    return next(one.version for one in distributions(name=distribution, path=paths))


@asynccontextmanager
async def process(environment: str, command: str, *arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """Runs a command of an environment in an empty directory until the end of the context."""
    with tempfile.TemporaryDirectory(prefix="purser-bench-") as home:
        running = await asyncio.create_subprocess_exec(
            str(ENVIRONMENTS / environment / "bin" / command),
            *arguments,
            env=os.environ | SETTINGS | {"HOME": home},
            cwd=home,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            yield running
        finally:
            if running.returncode is None:
                running.terminate()
            await running.communicate()


async def figures(environment: str, module: str, *arguments: str) -> Any:
    """The JSON that a module of this package prints as its last line, in an environment.

    Raises:
        PeerFailed: it ended without.
    """
    async with process(environment, "python", "-m", f"{__package__}.{module}", *arguments) as running:
        written, _ = await running.communicate()
        lines = written.decode().splitlines() or [""]
        if running.returncode != 0:
            raise PeerFailed(lines[-1])
        return json.loads(lines[-1])
