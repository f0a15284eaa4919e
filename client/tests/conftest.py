"""The gateway and the provider that `client/tests/run.py` has started."""

import gc
import os
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from doors import Door, words
from table import ARRIVED

from purser_client import AsyncPurser

gc.disable()  # while frameworks are imported: what they keep is no garbage, and each collection walks through it


def pytest_collection_finish() -> None:
    """Every test needs what is imported by now, and no collection of garbage needs to look at it again."""
    gc.freeze()
    gc.enable()


@pytest.fixture
async def door() -> AsyncIterator[Door]:
    """A session of the test's own; the provider without scripts."""
    async with AsyncPurser(count=words) as purser, httpx.AsyncClient(base_url=os.environ["PROVIDER"]) as provider:
        made = Door(purser, provider)
        await made.reset()
        purser._http.event_hooks["request"].append(made.note)
        yield made


@pytest.fixture
def left_stream() -> int:
    """What a stream that is left after ARRIVED tokens of output is charged for them."""
    return ARRIVED


@pytest.fixture
def abandoned() -> dict[str, Any]:
    """Options of a call that is cancelled or left."""
    return {}
