"""A model that writes summaries, each under a hold of its own."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from purser.activities.calls.uncancelled import finished
from purser.activities.errors import Cost, ProviderError
from purser.activities.models.metrics import Decided, nobody
from purser.activities.models.partial_replies import Draft
from purser.activities.models.provider import ModelProvider, ModelRequest
from purser.activities.models.side_calls import SideCalls, Started
from purser.budget.holds import Report
from purser.budget.postgres.connections.pools import Connection
from purser.budget.postgres.ledger.ledger import Ledger
from purser.budget.pricing.prices import PriceBook
from purser.budget.pricing.quotes import Unpriced, uncounted
from purser.budget.scopes import Path
from purser.budget.usage import Usage
from purser.context.tokens import count_async, window_of

Messages = Sequence[Mapping[str, Any]]
TEMPERATURE = 0.2
"""A record is to be faithful, not inventive."""


@dataclass(frozen=True, slots=True)
class Written:
    """A reply whose attempt is still to be settled, in the transaction that stores what comes of it."""

    text: str
    whole: bool
    """Whether the model came to its end before the reply was cut."""
    started: Started
    report: Report

    @property
    def hold_id(self) -> str:
        """The hold that pays for it."""
        return self.started.hold_id


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


class Summarizer:
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
        usual_window: int = 128_000,
        decided: Decided = nobody,
        unpriced: Callable[[Unpriced], None] = uncounted,
    ) -> None:
        """Args:
        model: which writes.
        provider: the way to it.
        ledger, prices: of its holds, as `SideCalls` takes them.
        api_base: address of the model; `None`: its provider's own.
        timeout_s: for a reply, less than the lease of a hold.
        usual_window: tokens that the model takes, if no table knows it.
        decided: told of every verdict on its holds.
        unpriced: called for each charge without a price.
        """
        self.model = model
        self._provider = provider
        self._calls = SideCalls(model, ledger, prices, decided, unpriced)
        self._api_base = api_base
        self._timeout_s = timeout_s
        self.window = window_of(model, prices.context_window(model), default=usual_window)
        """Tokens that the model takes, its reply included."""

    async def write(
        self, tenant: str, key: str, path: Path, messages: Messages, most_tokens: int
    ) -> Written | Unwritten:
        """The model's reply.

        Args:
            tenant, key, path: of the hold.
            messages: the request.
            most_tokens: of the reply.

        Returns:
            The reply, to be settled by `settle`; or why there is none: then no hold is left open, and what an attempt
            may have cost is charged.

        Raises:
            LedgerUnavailable: try again under the same key.
        """
        # Once a process: its seconds are not those of a request that is paid for.
        await self._provider.warm_up()
        prompt_tokens = (await count_async(messages, (), self.model)).tokens
        if prompt_tokens + most_tokens > self.window:
            return Unwritten.TOO_LARGE

        async def story() -> Written | Unwritten:
            started = await self._calls.start(tenant, key, path, prompt_tokens, most_tokens)
            return await self._ask(tenant, started, messages, most_tokens) if started else Unwritten.REFUSED

        return await self._calls.closed(tenant, key, story(), otherwise=Unwritten.REFUSED)

    async def settle(self, tenant: str, written: Written, connection: Connection | None = None) -> None:
        """Replaces the hold of a reply by what it cost; joins the transaction of `connection`."""
        await self._calls.charge(tenant, written.started, written.report, connection)

    async def _ask(self, tenant: str, started: Started, messages: Messages, most_tokens: int) -> Written | Unwritten:
        request = ModelRequest(self.model, messages, (), most_tokens, started.request_id, self._api_base, TEMPERATURE)
        draft = Draft()
        try:
            async with asyncio.timeout(self._timeout_s):
                await self._provider.complete(request, draft)
        except asyncio.CancelledError:
            usage = await draft.charge_async(started.input_tokens, self.model) if draft.sent else Usage()
            await finished(self._calls.charge(tenant, started, self._calls.report(started, usage)))
            raise
        except (ProviderError, TimeoutError) as failure:
            if not draft.complete:
                cost = failure.cost if isinstance(failure, ProviderError) else Cost.UNKNOWN
                await finished(self._calls.give_up(tenant, started, cost, draft.usage))
                return Unwritten.TIMEOUT if isinstance(failure, TimeoutError) else Unwritten.NO_REPLY
        report = self._calls.report(started, await draft.charge_async(started.input_tokens, self.model))
        return Written(draft.message().text, draft.finish_reason != "length", started, report)
