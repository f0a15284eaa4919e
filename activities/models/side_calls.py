"""Model calls outside the turns of agents, such as for a summary or for vectors, each under its own hold.

They neither wait for open holds nor request approvals: if the budget has no room, the caller does without the call.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from purser.activities.calls.uncancelled import uncancelled
from purser.activities.errors import Cost
from purser.activities.models.metrics import OnVerdict, ignore_verdict
from purser.budget.errors import BudgetError, LedgerUnavailable
from purser.budget.holds import HoldAnswer, HoldRequest, HoldState, Report
from purser.budget.postgres.connections.pools import Connection
from purser.budget.postgres.ledger.ledger import Ledger
from purser.budget.pricing.call_prices import Unpriced, charge, ignore_unpriced, outcome_of, quote
from purser.budget.pricing.price_book import PriceBook
from purser.budget.scopes import Path
from purser.budget.usage import Usage

T = TypeVar("T")
_ATTEMPTS = 3
"""Attempts of the calling activity: each may have settled its hold and died before it used the reply."""


@dataclass(frozen=True, slots=True)
class StartedAttempt:
    """A started attempt, whose request may be sent."""

    hold_id: str
    attempt: int
    input_tokens: int
    asked_nano_usd: int

    @property
    def request_id(self) -> str:
        """Id of the request at the provider."""
        return f"{self.hold_id}-{self.attempt}"


class SideCalls:
    """Holds, attempts and charges of the calls of one model."""

    def __init__(
        self,
        model: str,
        ledger: Ledger,
        prices: PriceBook,
        on_verdict: OnVerdict = ignore_verdict,
        on_unpriced: Callable[[Unpriced], None] = ignore_unpriced,
    ) -> None:
        """Args:
        model: the model that is called.
        ledger: holds and settles.
        prices: the prices of models.
        on_verdict: called with every verdict.
        on_unpriced: called for each charge without a price.
        """
        self._model = model
        self._ledger = ledger
        self._prices = prices
        self._on_verdict = on_verdict
        self._on_unpriced = on_unpriced

    async def closed(self, tenant: str, key: str, attempt: Awaitable[T], otherwise: T) -> T:
        """Awaits an attempt and leaves no hold open, however it ends.

        Args:
            tenant, key: of the hold.
            attempt: starts, asks, and charges or gives up.
            otherwise: the result if the key was used for a different ask, was closed, or its hold has ended.

        Raises:
            LedgerUnavailable: try again under the same key.
        """
        try:
            return await attempt
        except LedgerUnavailable:
            raise
        except BudgetError:
            await self._ledger.release(tenant, key=key)
            return otherwise
        except asyncio.CancelledError:
            await uncancelled(self._ledger.release(tenant, key=key))
            raise

    async def start(
        self, tenant: str, key: str, path: Path, input_tokens: int, output_tokens: int = 0
    ) -> StartedAttempt | None:
        """Holds and starts an attempt; `None` if a scope of the path has no room for it or needs its price."""
        quoted = quote(self._prices, self._model, Usage(input=input_tokens, output=output_tokens))
        request = HoldRequest(key, path, quoted.full, model=self._model, patient=False, priced=quoted.priced)
        answer = await self._held(tenant, request)
        if answer.hold_id is None or answer.state is not HoldState.HELD:
            return None
        attempt = await self._ledger.start_attempt(tenant, answer.hold_id)
        if not attempt.started:
            await self._ledger.release(tenant, hold_id=answer.hold_id)
            return None
        return StartedAttempt(answer.hold_id, attempt.attempt, input_tokens, quoted.full.nano_usd)

    def report(self, started: StartedAttempt, usage: Usage) -> Report:
        """Returns usage with its cost."""
        report = charge(self._prices, self._model, usage, started.asked_nano_usd)
        if (outcome := outcome_of(report)) is not None:
            self._on_unpriced(outcome)
        return report

    async def charge(
        self, tenant: str, started: StartedAttempt, report: Report, connection: Connection | None = None
    ) -> None:
        """Replaces the hold by the cost of the attempt; joins the transaction of `connection`."""
        await self._ledger.settle(tenant, started.hold_id, started.attempt, report, connection=connection)

    async def give_up(self, tenant: str, started: StartedAttempt, cost: Cost, usage: Usage | None = None) -> None:
        """Charges the known cost of a failed request; an unknown cost is presumed."""
        if usage is not None or cost is Cost.NOTHING:
            await self.charge(tenant, started, self.report(started, usage or Usage()))
        else:
            await self._ledger.release(tenant, hold_id=started.hold_id)

    async def _held(self, tenant: str, request: HoldRequest) -> HoldAnswer:
        """Asks for a hold; a new one if an earlier attempt settled that of the key but died before using the reply."""
        answer = await self._ledger.hold(tenant, request)
        self._on_verdict(answer.gate)
        for again in range(1, _ATTEMPTS):
            if answer.state is HoldState.SETTLED:
                answer = await self._ledger.hold(tenant, replace(request, key=f"{request.key}.again{again}"))
        return answer
