"""A model that writes summaries, each under a hold of its own."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from activities.drafts import Draft
from activities.errors import Cost, ProviderError
from activities.provider import ModelProvider, ModelRequest
from activities.shielding import finished
from budget.decisions import Amount
from budget.errors import BudgetError, LedgerUnavailable, UnknownPrice
from budget.holds import HoldRequest, HoldState, Report
from budget.postgres.ledger import Ledger
from budget.postgres.policies import Policies
from budget.prices import PriceBook
from budget.rates import Price
from budget.scopes import Path
from budget.usage import Usage
from context.tokens import count_async

Messages = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Written:
    """A reply whose attempt is still to be settled, in the transaction that stores what comes of it."""

    text: str
    whole: bool
    """Whether the model came to its end before the reply was cut."""
    hold_id: str
    attempt: int
    report: Report


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
    ) -> None:
        """Args:
        model: which writes.
        provider: the way to it.
        ledger: holds and settles.
        policies: tell whether a path limits money; what has no price is not asked there.
        prices: of the model.
        api_base: address of the model; `None`: its provider's own.
        timeout_s: for a reply, less than the lease of a hold.
        """
        self.model = model
        self._provider = provider
        self._ledger = ledger
        self._policies = policies
        self._prices = prices
        self._api_base = api_base
        self._timeout_s = timeout_s

    async def write(self, tenant: str, key: str, path: Path, messages: Messages, most_tokens: int) -> Written | None:
        """The model's reply.

        Args:
            tenant, key, path: of the hold. A summary waits for nobody and asks nobody for approval.
            messages: the request.
            most_tokens: of the reply.

        Returns:
            `None` where the budget refuses, the request is longer than the model's window, or no reply comes. Then no
            hold is left open, and what an attempt may have cost is charged.

        Raises:
            LedgerUnavailable: try again under the same key.
        """
        try:
            started = await self._start(tenant, key, path, messages, most_tokens)
            return await self._ask(tenant, started, messages, most_tokens) if started else None
        except LedgerUnavailable:
            raise
        except BudgetError:
            # The key stood for another request, was closed, or its hold has ended.
            await self._ledger.release(tenant, key=key)
            return None
        except asyncio.CancelledError:
            await finished(self._ledger.release(tenant, key=key))
            raise

    async def _start(self, tenant: str, key: str, path: Path, messages: Messages, most_tokens: int) -> _Started | None:
        """Holds and starts an attempt, if the model can take the request and every scope has room for it."""
        prompt_tokens = (await count_async(messages, (), self.model)).tokens
        window = self._prices.context_window(self.model)
        nano_usd = await self._ceiling(tenant, path, prompt_tokens, most_tokens)
        if nano_usd is None or (window is not None and prompt_tokens + most_tokens > window):
            return None
        ask = Amount(prompt_tokens + most_tokens, nano_usd)
        answer = await self._ledger.hold(tenant, HoldRequest(key, path, ask, model=self.model, patient=False))
        if answer.hold_id is None or answer.state is not HoldState.HELD:
            return None
        attempt = await self._ledger.start_attempt(tenant, answer.hold_id)
        if not attempt.started:
            await self._ledger.release(tenant, hold_id=answer.hold_id)
            return None
        return _Started(answer.hold_id, attempt.attempt, prompt_tokens)

    async def _ask(self, tenant: str, started: _Started, messages: Messages, most_tokens: int) -> Written | None:
        request_id = f"{started.hold_id}-{started.attempt}"
        request = ModelRequest(self.model, messages, (), most_tokens, request_id, self._api_base)
        draft = Draft()
        try:
            async with asyncio.timeout(self._timeout_s):
                await self._provider.complete(request, draft)
        except asyncio.CancelledError:
            usage = draft.charge(started.prompt_tokens, self.model) if draft.sent else Usage()
            await finished(self._settle(tenant, started, usage))
            raise
        except (ProviderError, TimeoutError) as failure:
            if not draft.complete:
                cost = failure.cost if isinstance(failure, ProviderError) else Cost.UNKNOWN
                await finished(self._failed(tenant, started, draft, cost))
                return None
        report = self._report(draft.charge(started.prompt_tokens, self.model))
        whole = draft.finish_reason != "length"
        return Written(draft.message().text, whole, started.hold_id, started.attempt, report)

    async def _failed(self, tenant: str, started: _Started, draft: Draft, cost: Cost) -> None:
        """Charges what is known of a failed request; what is not known is presumed."""
        if draft.usage is not None or cost is Cost.NOTHING:
            await self._settle(tenant, started, draft.usage or Usage())
        else:
            await self._ledger.release(tenant, hold_id=started.hold_id)

    async def _settle(self, tenant: str, started: _Started, usage: Usage) -> None:
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
