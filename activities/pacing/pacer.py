"""Keeps the pace of requests to providers, through state that all workers and gateways share."""

import asyncio
import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from purser.activities.errors import Cost, ProviderUnavailable
from purser.activities.pacing.limits import Pacing
from purser.activities.pacing.pace import Spacing
from purser.activities.postgres.calls.pacing import PacingStore
from purser.budget.errors import BudgetError

MOST_AHEAD_S = 3_600.0
"""Longest wait for which a call gets a slot; it asks again after that."""
SIDE_CALL_WAIT_S = 10.0
"""Longest wait of a summary or an embedding, which do without their model rather than wait."""


class Paced(Exception):
    """The pace of the provider allows the request only later; nothing was sent."""

    def __init__(self, wait_ms: int) -> None:
        super().__init__("paced")
        self.wait_ms = wait_ms


@dataclass(frozen=True)
class Pacer:
    """Gives requests their slots."""

    store: PacingStore
    pacing: Pacing

    async def of_call(self, tenant: str, key: str, model: str, api_base: str | None, tokens: int) -> None:
        """Returns if the request of a call may be sent now.

        A call keeps its slot while it waits, and needs a new one for each request.

        Raises:
            Paced: it may be sent later.
            LedgerUnavailable
        """
        if not (spacings := self.pacing.spacings(model, api_base)):
            return
        wait_s = await self.store.wait_s(spacings, tokens, MOST_AHEAD_S, (tenant, key))
        if wait_s != 0:
            raise Paced(_ms(MOST_AHEAD_S if wait_s is None else wait_s))

    async def of_side_call(self, model: str, api_base: str | None, tokens: int) -> None:
        """Waits until a request without a call may be sent.

        Raises:
            ProviderUnavailable: not soon enough.
            LedgerUnavailable
        """
        if not (spacings := self.pacing.spacings(model, api_base)):
            return
        wait_s = await self.store.wait_s(spacings, tokens, SIDE_CALL_WAIT_S)
        if wait_s is None:
            raise ProviderUnavailable("paced", cost=Cost.NOTHING)
        if wait_s > 0:
            await asyncio.sleep(wait_s)

    async def limited(self, model: str, api_base: str | None, failure: ProviderUnavailable) -> None:
        """Pauses a limited model for all, for as long as the provider asked one request to wait."""
        spacings: Sequence[Spacing] = self.pacing.spacings(model, api_base)
        if spacings and failure.reason == "rate_limited" and failure.retry_after_ms:
            with suppress(BudgetError):
                await self.store.pause(spacings[0].name, failure.retry_after_ms / 1_000)


def _ms(seconds: float) -> int:
    return math.ceil(seconds * 1_000)
