"""A model that writes summaries, each under a hold of its own."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from activities.drafts import Draft
from activities.errors import Cost, ProviderError
from activities.provider import ModelProvider, ModelRequest
from budget.decisions import Amount
from budget.errors import BudgetError, LedgerUnavailable
from budget.holds import HoldRequest, HoldState, Report
from budget.postgres.ledger import Ledger
from budget.prices import PriceBook
from budget.scopes import Path
from budget.usage import Usage
from context.tokens import count_async

Messages = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Written:
    """A reply whose attempt is still to be settled, in the transaction that stores what comes of it."""

    text: str
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
        prices: PriceBook,
        *,
        api_base: str | None = None,
        timeout_s: float = 60,
    ) -> None:
        """Args:
        model: which writes.
        provider: the way to it.
        ledger: holds and settles.
        prices: of the model; what has no price is not asked.
        api_base: address of the model; `None`: its provider's own.
        timeout_s: for a reply, less than the lease of a hold.
        """
        self.model = model
        self._provider = provider
        self._ledger = ledger
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
        except (BudgetError, asyncio.CancelledError) as error:
            # The key was used or closed before, the hold has ended, or nobody waits for the summary any more.
            await asyncio.shield(self._ledger.release(tenant, key=key))
            if isinstance(error, BudgetError):
                return None
            raise

    async def _start(self, tenant: str, key: str, path: Path, messages: Messages, most_tokens: int) -> _Started | None:
        prompt_tokens = (await count_async(messages, (), self.model)).tokens
        window = self._prices.context_window(self.model)
        if window is not None and prompt_tokens + most_tokens > window:
            return None
        nano_usd = self._prices.price(self.model).ceiling(prompt_tokens, most_tokens)
        ask = Amount(prompt_tokens + most_tokens, nano_usd)
        answer = await self._ledger.hold(tenant, HoldRequest(key, path, ask, model=self.model, patient=False))
        if answer.hold_id is None or answer.state is not HoldState.HELD:
            return None
        started = await self._ledger.start_attempt(tenant, answer.hold_id)
        if not started.started:
            await self._ledger.release(tenant, hold_id=answer.hold_id)
            return None
        return _Started(answer.hold_id, started.attempt, prompt_tokens)

    async def _ask(self, tenant: str, started: _Started, messages: Messages, most_tokens: int) -> Written | None:
        request_id = f"{started.hold_id}-{started.attempt}"
        request = ModelRequest(self.model, messages, (), most_tokens, request_id, self._api_base)
        draft, cost = Draft(), Cost.UNKNOWN
        try:
            async with asyncio.timeout(self._timeout_s):
                await self._provider.complete(request, draft)
        except (ProviderError, TimeoutError) as error:
            cost = error.cost if isinstance(error, ProviderError) else cost
        except asyncio.CancelledError:
            await asyncio.shield(self._settle(tenant, started, draft.charge(started.prompt_tokens, self.model)))
            raise
        else:
            report = self._report(draft.charge(started.prompt_tokens, self.model))
            return Written(draft.message().text, started.hold_id, started.attempt, report)
        if cost is Cost.NOTHING:
            await self._settle(tenant, started, Usage())
        elif draft.usage is not None:
            await self._settle(tenant, started, draft.usage)
        else:
            await self._ledger.release(tenant, hold_id=started.hold_id)
        return None

    async def _settle(self, tenant: str, started: _Started, usage: Usage) -> None:
        await self._ledger.settle(tenant, started.hold_id, started.attempt, self._report(usage))

    def _report(self, usage: Usage) -> Report:
        return Report(usage, self._prices.price(self.model).cost(usage))
