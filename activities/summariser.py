"""A model that writes summaries, each under a hold of its own."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from activities.drafts import Draft
from activities.errors import Cost, ProviderError
from activities.provider import ModelProvider, ModelRequest
from activities.shielding import finished
from budget.decisions import Amount
from budget.errors import BudgetError, LedgerUnavailable, UnknownPrice
from budget.holds import HoldAnswer, HoldRequest, HoldState, Report
from budget.postgres.connection import Connection
from budget.postgres.ledger import Ledger
from budget.postgres.policies import Policies
from budget.prices import PriceBook
from budget.rates import Price
from budget.scopes import Path
from budget.usage import Usage
from context.tokens import count_async

Messages = Sequence[Mapping[str, Any]]
_TRIES = 3
"""Of an activity that compresses."""
TEMPERATURE = 0.2
"""A record is to be faithful, not inventive."""


@dataclass(frozen=True, slots=True)
class Written:
    """A reply whose attempt is still to be settled, in the transaction that stores what comes of it."""

    text: str
    whole: bool
    """Whether the model came to its end before the reply was cut."""
    hold_id: str
    attempt: int
    report: Report


class Unwritten(StrEnum):
    """Why there is no reply."""

    REFUSED = "refused"
    """By the budget; or the key was closed."""
    TOO_LARGE = "too_large"
    """The request is longer than the model's window."""
    TIMEOUT = "timeout"
    NO_REPLY = "no_reply"
    """The provider failed."""

    @property
    def failed(self) -> bool:
        """Whether the model itself failed: another try soon is likely to fail too."""
        return self in (Unwritten.TIMEOUT, Unwritten.NO_REPLY)


@dataclass(frozen=True, slots=True)
class _Started:
    """An attempt that may go to the provider."""

    hold_id: str
    attempt: int
    prompt_tokens: int


class Summariser:
    """Asks the configured model, where the budget lets it."""

    def __init__(
        self,
        model: str,
        provider: ModelProvider,
        ledger: Ledger,
        policies: Policies,
        prices: PriceBook,
        *,
        api_base: str | None = None,
        timeout_s: float = 60,
        usual_window: int = 128_000,
    ) -> None:
        """Args:
        model: which writes.
        provider: the way to it.
        ledger: holds and settles.
        policies: tell whether a path limits money; what has no price is not asked there.
        prices: of the model.
        api_base: address of the model; `None`: its provider's own.
        timeout_s: for a reply, less than the lease of a hold.
        usual_window: tokens that the model takes, if no table knows it.
        """
        self.model = model
        self._provider = provider
        self._ledger = ledger
        self._policies = policies
        self._prices = prices
        self._api_base = api_base
        self._timeout_s = timeout_s
        self.window = prices.context_window(model) or usual_window
        """Tokens that the model takes, its reply included."""

    async def write(
        self, tenant: str, key: str, path: Path, messages: Messages, most_tokens: int
    ) -> Written | Unwritten:
        """The model's reply.

        Args:
            tenant, key, path: of the hold. A summary waits for nobody and asks nobody for approval.
            messages: the request.
            most_tokens: of the reply.

        Returns:
            The reply, to be settled by `settle`; or why there is none: then no hold is left open, and what an attempt
            may have cost is charged.

        Raises:
            LedgerUnavailable: try again under the same key.
        """
        try:
            started = await self._start(tenant, key, path, messages, most_tokens)
            if isinstance(started, Unwritten):
                return started
            return await self._ask(tenant, started, messages, most_tokens)
        except LedgerUnavailable:
            raise
        except BudgetError:
            # The key stood for another request, was closed, or its hold has ended.
            await self._ledger.release(tenant, key=key)
            return Unwritten.REFUSED
        except asyncio.CancelledError:
            await finished(self._ledger.release(tenant, key=key))
            raise

    async def settle(self, tenant: str, written: Written, connection: Connection | None = None) -> None:
        """Replaces the hold of a reply by what it cost; joins the transaction of `connection`."""
        await self._ledger.settle(tenant, written.hold_id, written.attempt, written.report, connection=connection)

    async def _start(
        self, tenant: str, key: str, path: Path, messages: Messages, most_tokens: int
    ) -> _Started | Unwritten:
        """Holds and starts an attempt, if the model can take the request and every scope has room for it."""
        prompt_tokens = (await count_async(messages, (), self.model)).tokens
        if prompt_tokens + most_tokens > self.window:
            return Unwritten.TOO_LARGE
        nano_usd = await self._ceiling(tenant, path, prompt_tokens, most_tokens)
        if nano_usd is None:
            return Unwritten.REFUSED
        ask = Amount(prompt_tokens + most_tokens, nano_usd)
        answer = await self._held(tenant, HoldRequest(key, path, ask, model=self.model, patient=False))
        if answer.hold_id is None or answer.state is not HoldState.HELD:
            return Unwritten.REFUSED
        attempt = await self._ledger.start_attempt(tenant, answer.hold_id)
        if not attempt.started:
            await self._ledger.release(tenant, hold_id=answer.hold_id)
            return Unwritten.REFUSED
        return _Started(answer.hold_id, attempt.attempt, prompt_tokens)

    async def _held(self, tenant: str, request: HoldRequest) -> HoldAnswer:
        """A hold; where an earlier try has settled that of the key, and died before it used the reply, another one."""
        answer = await self._ledger.hold(tenant, request)
        for again in range(1, _TRIES):
            if answer.state is HoldState.SETTLED:
                answer = await self._ledger.hold(tenant, replace(request, key=f"{request.key}.again{again}"))
        return answer

    async def _ask(self, tenant: str, started: _Started, messages: Messages, most_tokens: int) -> Written | Unwritten:
        request_id = f"{started.hold_id}-{started.attempt}"
        request = ModelRequest(self.model, messages, (), most_tokens, request_id, self._api_base, TEMPERATURE)
        draft = Draft()
        try:
            async with asyncio.timeout(self._timeout_s):
                await self._provider.complete(request, draft)
        except asyncio.CancelledError:
            usage = draft.charge(started.prompt_tokens, self.model) if draft.sent else Usage()
            await finished(self._charge(tenant, started, usage))
            raise
        except (ProviderError, TimeoutError) as failure:
            if not draft.complete:
                cost = failure.cost if isinstance(failure, ProviderError) else Cost.UNKNOWN
                await finished(self._failed(tenant, started, draft, cost))
                return Unwritten.TIMEOUT if isinstance(failure, TimeoutError) else Unwritten.NO_REPLY
        report = self._report(draft.charge(started.prompt_tokens, self.model))
        whole = draft.finish_reason != "length"
        return Written(draft.message().text, whole, started.hold_id, started.attempt, report)

    async def _failed(self, tenant: str, started: _Started, draft: Draft, cost: Cost) -> None:
        """Charges what is known of a failed request; what is not known is presumed."""
        if draft.usage is not None or cost is Cost.NOTHING:
            await self._charge(tenant, started, draft.usage or Usage())
        else:
            await self._ledger.release(tenant, hold_id=started.hold_id)

    async def _charge(self, tenant: str, started: _Started, usage: Usage) -> None:
        await self._ledger.settle(tenant, started.hold_id, started.attempt, self._report(usage))

    def _report(self, usage: Usage) -> Report:
        price = self._price()
        return Report(usage, price.cost(usage) if price else 0)

    async def _ceiling(self, tenant: str, path: Path, prompt_tokens: int, most_tokens: int) -> int | None:
        """Nano-dollars that the call can cost; `None` if nobody knows and a scope limits them."""
        if price := self._price():
            return price.ceiling(prompt_tokens, most_tokens)
        budgets = await self._policies.budgets_of(tenant, path.scopes, path.task_id() or None)
        return None if any(budget.policy.limit_nano_usd is not None for budget in budgets) else 0

    def _price(self) -> Price | None:
        try:
            return self._prices.price(self.model)
        except UnknownPrice:
            return None
