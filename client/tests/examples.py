"""Runs the example of a page as its reader does."""

import asyncio
import importlib
import os
import sys
from pathlib import Path
from unittest.mock import patch

from doors import Door

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples" / "frameworks"


async def run_example(name: str, door: Door) -> str:
    """What the example prints, with the provider of the tests."""
    env = os.environ | {"PROVIDER": door.api_base}
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(EXAMPLES / f"{name}.py"), env=env, stdout=asyncio.subprocess.PIPE
    )
    printed, _ = await process.communicate()
    assert process.returncode == 0
    return printed.decode().strip()


async def run_again(name: str, door: Door) -> str:
    """The same in this process, which has already imported the framework."""
    with patch.dict(os.environ, PROVIDER=door.api_base), patch.object(sys, "path", [str(EXAMPLES), *sys.path]):
        return str(await importlib.import_module(name).main())


async def is_budgeted(name: str, door: Door) -> None:
    """Asserts that the example is charged as it was served, and refused under a smaller limit."""
    before, _ = await door.figures()
    assert (await run_example(name, door)).startswith("You said 2 words")
    served = await door.served()
    await door.is_charged(before, *(one["charged_tokens"] for one in served))
    await door.limit(1)
    assert f"refuse: {door.session} may spend 1 tokens" in await run_again(name, door)
    assert len(await door.served()) == len(served)
