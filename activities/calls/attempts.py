"""What follows a hold: attempts start under it and are charged, whoever asked for the hold and however they end."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from time import monotonic
from typing import NoReturn

from purser.activities.calls.patience import outlasting
from purser.activities.calls.uncancelled import uncancelled
from purser.activities.errors import Cost, ProviderError
from purser.activities.models.egress.transport import SendPermit
from purser.budget.errors import BudgetError, LedgerUnavailable
from purser.budget.gate import Amount, GateAnswer
from purser.budget.holds import AttemptAnswer, HoldRequest, Report
from purser.budget.postgres.connections.pools import Connection
from purser.budget.postgres.ledger.ledger import Ledger
from purser.budget.pricing.call_prices import Unpriced, charge, ignore_unpriced, outcome_of
from purser.budget.pricing.price_book import PriceBook
from purser.budget.usage import Usage
from purser.wire.limits import MAX_CALL_TOKENS


@dataclass(frozen=True, slots=True)
class Attempt:
    """One request to a provider under a hold."""

    tenant: str
    model: str
    hold_id: str
    number: int
    asked: Amount
    """The amount for which its call was admitted."""
    held: Amount
    """The amount that was held for it when it started."""
    cap: int = 0
    """Most output tokens of the request."""

    @property
    def permit(self) -> SendPermit:
        """The permission to send it."""
        return SendPermit(f"{self.hold_id}-{self.number}", self.cap)


class NotStarted(Exception):
    """The budget has no room for another attempt."""

    def __init__(self, gate: GateAnswer, amount: Amount) -> None:
        super().__init__("no room for another attempt")
        self.gate = gate
        self.amount = amount
        """The amount that did not fit."""


@dataclass(frozen=True, slots=True)
class Attempts:
    """Starts attempts in the ledger and charges them."""

    ledger: Ledger
    prices: PriceBook
    on_unpriced: Callable[[Unpriced], None] = ignore_unpriced
    """Called for each charge without a price."""

    async def start(
        self, tenant: str, model: str, hold_id: str, asked: Amount, cap: int = 0, *, most: Amount | None = None
    ) -> Attempt:
        """Starts the next attempt under a hold. If its task is cancelled meanwhile, it costs nothing.

        Args:
            tenant, hold_id: the hold.
            model: the model to be called.
            asked: the amount for which the call was admitted.
            cap: most output tokens of the request.
            most: the most that the request can use; `None`: what is held.

        Raises:
            NotStarted: the budget has no room for another attempt.
            HoldClosed, LedgerUnavailable
        """
        answer = await uncancelled(self._start(tenant, hold_id, most))
        if answer.gate is not None:
            raise NotStarted(answer.gate, answer.amount)
        attempt = Attempt(tenant, model, hold_id, answer.attempt, asked, answer.amount, cap)
        if (task := asyncio.current_task()) is not None and task.cancelling():
            nothing = self.report(attempt, Usage())  # nothing was sent
            await uncancelled(outlasting(lambda: self.settle(attempt, nothing)))
            raise asyncio.CancelledError
        return attempt

    async def _start(self, tenant: str, hold_id: str, most: Amount | None) -> AttemptAnswer:
        sent_at = monotonic()

        async def again() -> AttemptAnswer:
            number = await self.ledger.attempt_since(tenant, hold_id, sent_at)
            return await self.ledger.start_attempt(tenant, hold_id, number, most=most)

        try:
            return await self.ledger.start_attempt(tenant, hold_id, most=most)
        except LedgerUnavailable:
            # It may have started nevertheless. To start the next one would charge it, although nothing was sent.
            return await outlasting(again)

    def report(self, attempt: Attempt, usage: Usage, provider_request_id: str = "") -> Report:
        """Returns the usage of an attempt with its cost, and the provider's own id of the request if it sent one.

        Usage above what any call can use is not believed: the call is charged its estimate, and its reply is stored.
        """
        if usage.total > MAX_CALL_TOKENS:
            asked = attempt.asked
            return Report(replace(Usage.from_total(asked.tokens), estimated=True), asked.nano_usd)
        report = charge(self.prices, attempt.model, usage, attempt.asked.nano_usd)
        if (outcome := outcome_of(report)) is not None:
            self.on_unpriced(outcome)
        return replace(report, provider_request_id=provider_request_id)

    async def settle(
        self, attempt: Attempt, report: Report, connection: Connection | None = None, *, keep_open: bool = False
    ) -> None:
        """Replaces the hold by the cost of an attempt; joins the transaction of `connection`."""
        await self.ledger.settle(
            attempt.tenant, attempt.hold_id, attempt.number, report, keep_open=keep_open, connection=connection
        )

    async def failed(self, attempt: Attempt, failure: Exception, reported: Usage | None = None) -> None:
        """Ends the hold of a failed request with its known cost; an unknown cost is presumed."""
        if (usage := known_usage(failure, reported)) is not None:
            await self.settle(attempt, self.report(attempt, usage))
        else:
            await self.ledger.release(attempt.tenant, hold_id=attempt.hold_id)


def known_usage(failure: Exception, reported: Usage | None) -> Usage | None:
    """Usage of a failed request: what was reported, or nothing if the provider surely did no work; `None`: unknown."""
    if reported is not None:
        return reported
    return Usage() if isinstance(failure, ProviderError) and failure.cost is Cost.NOTHING else None


def anew(request: HoldRequest, times: int) -> Iterator[HoldRequest]:
    """The same ask under keys of its own, for a caller that repeats a key whose hold has ended."""
    for again in range(1, times + 1):
        yield replace(request, key=f"{request.key}.again{again}")


async def renewed(ledger: Ledger, tenant: str, hold_id: str, lease_ms: int) -> NoReturn:
    """Keeps the lease of a hold alive until it is cancelled."""
    while True:
        await asyncio.sleep(max(1.0, lease_ms / 3_000))
        with suppress(BudgetError):
            await ledger.extend(tenant, hold_id, lease_ms=lease_ms)
