"""Model calls outside the turns of agents, such as for a summary or for vectors, each under its own hold.

They neither wait for open holds nor request approvals: if the budget has no room, the caller does without the call.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from purser.activities.calls.attempts import Attempt, Attempts, anew
from purser.activities.calls.uncancelled import uncancelled
from purser.activities.models.egress.transport import SendPermit
from purser.activities.models.metrics import OnVerdict, ignore_verdict
from purser.budget.errors import BudgetError, KeyReused, LedgerUnavailable
from purser.budget.gate import Amount
from purser.budget.holds import HoldAnswer, HoldRequest, HoldState
from purser.budget.postgres.ledger.ledger import Ledger
from purser.budget.pricing.call_prices import Unpriced, ignore_unpriced, quote
from purser.budget.pricing.price_book import PriceBook
from purser.budget.scopes import Path
from purser.budget.usage import Usage

T = TypeVar("T")
_ATTEMPTS = 3
"""Attempts of the calling activity: each may have settled its hold and died before it used the reply."""


@dataclass(slots=True)
class SideCall:
    """One call under its own hold. Its attempt starts when its request is ready to be sent."""

    attempts: Attempts
    """Starts and charges the attempt."""
    tenant: str
    model: str
    hold_id: str
    asked: Amount
    """What was asked for, which a request of unknown cost is charged."""
    output_tokens: int
    """Most output tokens of the call."""
    attempt: Attempt | None = None
    """`None`: not started, so the provider cannot have charged anything."""

    @property
    def started(self) -> Attempt:
        """The attempt of a request that was sent."""
        assert self.attempt is not None
        return self.attempt

    async def start(self, pace: Awaitable[None]) -> SendPermit:
        """Starts the attempt once `pace` returns, however long that takes: until then the call costs nothing.

        Raises:
            NotStarted: the budget has no room for another attempt under the hold.
            HoldClosed, LedgerUnavailable
        """
        await pace
        self.attempt = await self.attempts.start(self.tenant, self.model, self.hold_id, self.asked, self.output_tokens)
        return self.attempt.permit

    async def settle(self, usage: Usage, provider_request_id: str = "") -> None:
        """Replaces the hold by the cost of the attempt."""
        await self.attempts.settle(self.started, self.attempts.report(self.started, usage, provider_request_id))

    async def failed(self, failure: Exception, reported: Usage | None = None) -> None:
        """Ends the hold without a reply: with nothing if no attempt has started, otherwise as `Attempts.failed`."""
        if self.attempt is None:
            await self.attempts.ledger.release(self.tenant, hold_id=self.hold_id)
        else:
            await self.attempts.failed(self.attempt, failure, reported)


class SideCalls:
    """Holds and attempts of the calls of one model."""

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
        self._on_verdict = on_verdict
        self._further: dict[tuple[str, str], str] = {}
        """The further key under which a call asks whose own key has a hold of no use, by tenant and own key."""
        self.attempts = Attempts(ledger, prices, on_unpriced)
        """Charges them."""

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
            await self._release(tenant, key)
            return otherwise
        except asyncio.CancelledError:
            await uncancelled(self._release(tenant, key))
            raise
        finally:
            self._further.pop((tenant, key), None)

    async def hold(
        self, tenant: str, key: str, path: Path, input_tokens: int, output_tokens: int = 0
    ) -> SideCall | None:
        """Holds a call; `None` if a scope of the path has no room for it or needs its price."""
        quoted = quote(self.attempts.prices, self._model, Usage(input=input_tokens, output=output_tokens))
        request = HoldRequest(key, path, quoted.full, model=self._model, patient=False, priced=quoted.priced)
        answer = await self._held(tenant, request)
        if answer.hold_id is None or answer.state is not HoldState.HELD:
            return None
        return SideCall(self.attempts, tenant, self._model, answer.hold_id, quoted.full, output_tokens)

    async def _held(self, tenant: str, request: HoldRequest) -> HoldAnswer:
        """Asks for a hold; under a further key if an earlier attempt died before it used the reply.

        Raises:
            KeyReused: each earlier attempt asked for something else.
        """
        asks = [request, *anew(request, _ATTEMPTS - 1)]
        for ask in asks:
            if ask is not request:
                self._further[tenant, request.key] = ask.key
            try:
                answer = await self._ledger.hold(tenant, ask)
            except KeyReused:  # messages have come meanwhile
                if ask is asks[-1]:
                    raise
                await self._ledger.release(tenant, key=ask.key)
                continue
            if answer.state not in (HoldState.SETTLED, HoldState.EXPIRED):
                break
        self._on_verdict(answer.gate)
        return answer

    async def _release(self, tenant: str, key: str) -> None:
        await self._ledger.release(tenant, key=self._further.get((tenant, key), key))
