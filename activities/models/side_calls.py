"""Calls of models beside the turns of agents, such as for a summary or for vectors, each under a hold of its own.

They wait for nobody and ask nobody for approval: where the budget has no room, their caller does without.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from purser.activities.calls.uncancelled import finished
from purser.activities.errors import Cost
from purser.activities.models.metrics import Decided, nobody
from purser.budget.errors import BudgetError, LedgerUnavailable
from purser.budget.holds import HoldAnswer, HoldRequest, HoldState, Report
from purser.budget.postgres.connections.pools import Connection
from purser.budget.postgres.ledger.ledger import Ledger
from purser.budget.pricing.prices import PriceBook
from purser.budget.pricing.quotes import Unpriced, charge, outcome_of, quote, uncounted
from purser.budget.scopes import Path
from purser.budget.usage import Usage

T = TypeVar("T")
_TRIES = 3
"""Of an activity that calls: each may have settled its hold and died before it used the reply."""


@dataclass(frozen=True, slots=True)
class Started:
    """An attempt that may go to the provider."""

    hold_id: str
    attempt: int
    input_tokens: int
    asked_nano_usd: int

    @property
    def request_id(self) -> str:
        """Names the request at the provider."""
        return f"{self.hold_id}-{self.attempt}"


class SideCalls:
    """Holds, attempts and charges of the calls of one model."""

    def __init__(
        self,
        model: str,
        ledger: Ledger,
        prices: PriceBook,
        decided: Decided = nobody,
        unpriced: Callable[[Unpriced], None] = uncounted,
    ) -> None:
        """Args:
        model: which is called.
        ledger: holds and settles.
        prices: of the model.
        decided: told of every verdict.
        unpriced: called for each charge without a price.
        """
        self._model = model
        self._ledger = ledger
        self._prices = prices
        self._decided = decided
        self._unpriced = unpriced

    async def closed(self, tenant: str, key: str, story: Awaitable[T], otherwise: T) -> T:
        """What a story between `start` and its end comes to; no hold is left open, however it ends.

        Args:
            tenant, key: of the hold.
            story: starts, asks, and charges or gives up.
            otherwise: the answer where the key stands for something else, was closed, or its hold has ended.

        Raises:
            LedgerUnavailable: try again under the same key.
        """
        try:
            return await story
        except LedgerUnavailable:
            raise
        except BudgetError:
            await self._ledger.release(tenant, key=key)
            return otherwise
        except asyncio.CancelledError:
            await finished(self._ledger.release(tenant, key=key))
            raise

    async def start(
        self, tenant: str, key: str, path: Path, input_tokens: int, output_tokens: int = 0
    ) -> Started | None:
        """Holds and starts an attempt; `None` where a scope of the path has no room for it, or it needs a price."""
        quoted = quote(self._prices, self._model, Usage(input=input_tokens, output=output_tokens))
        request = HoldRequest(key, path, quoted.full, model=self._model, patient=False, priced=quoted.priced)
        answer = await self._held(tenant, request)
        if answer.hold_id is None or answer.state is not HoldState.HELD:
            return None
        attempt = await self._ledger.start_attempt(tenant, answer.hold_id)
        if not attempt.started:
            await self._ledger.release(tenant, hold_id=answer.hold_id)
            return None
        return Started(answer.hold_id, attempt.attempt, input_tokens, quoted.full.nano_usd)

    def report(self, started: Started, usage: Usage) -> Report:
        """Usage with what it cost."""
        report = charge(self._prices, self._model, usage, started.asked_nano_usd)
        if (outcome := outcome_of(report)) is not None:
            self._unpriced(outcome)
        return report

    async def charge(self, tenant: str, started: Started, report: Report, connection: Connection | None = None) -> None:
        """Replaces the hold by what the attempt cost; joins the transaction of `connection`."""
        await self._ledger.settle(tenant, started.hold_id, started.attempt, report, connection=connection)

    async def give_up(self, tenant: str, started: Started, cost: Cost, usage: Usage | None = None) -> None:
        """Charges what is known of a failed request; what is not known is presumed."""
        if usage is not None or cost is Cost.NOTHING:
            await self.charge(tenant, started, self.report(started, usage or Usage()))
        else:
            await self._ledger.release(tenant, hold_id=started.hold_id)

    async def _held(self, tenant: str, request: HoldRequest) -> HoldAnswer:
        """A hold; where an earlier try has settled that of the key, and died before it used the reply, another one."""
        answer = await self._ledger.hold(tenant, request)
        self._decided(answer.decision)
        for again in range(1, _TRIES):
            if answer.state is HoldState.SETTLED:
                answer = await self._ledger.hold(tenant, replace(request, key=f"{request.key}.again{again}"))
        return answer
