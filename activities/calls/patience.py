"""Patience with a ledger that is away: what a provider has charged, or cannot have, is recorded once it is back."""

import asyncio
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import TypeVar

from purser.budget.errors import LedgerUnavailable

T = TypeVar("T")
PATIENCE_S = 300.0
"""Seconds for which a reply, or a start without an answer, waits for the ledger: giving up means paying twice."""
_LONGEST_PAUSE_S = 5.0


async def outlasting(step: Callable[[], Awaitable[T]]) -> T:
    """Runs `step`, again while the ledger is unavailable; raises `LedgerUnavailable` after `PATIENCE_S`."""
    pause, until = 0.1, monotonic() + PATIENCE_S
    while True:
        try:
            return await step()
        except LedgerUnavailable:
            if monotonic() + pause > until:
                raise
        await asyncio.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE_S)
