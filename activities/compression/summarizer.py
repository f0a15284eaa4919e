"""A model that writes summaries, each under its own hold."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from purser.activities.calls.attempts import Attempt, NotStarted
from purser.activities.calls.side_calls import SideCall, SideCalls
from purser.activities.calls.uncancelled import uncancelled
from purser.activities.errors import ProviderError
from purser.activities.models.metrics import OnVerdict, ignore_verdict
from purser.activities.models.partial_replies import PartialReply
from purser.activities.models.provider import ModelProvider, ModelRequest
from purser.budget.holds import Report
from purser.budget.postgres.connections.pools import Connection
from purser.budget.postgres.ledger.ledger import Ledger
from purser.budget.pricing.call_prices import Unpriced, ignore_unpriced
from purser.budget.pricing.price_book import PriceBook
from purser.budget.scopes import Path
from purser.budget.usage import Usage
from purser.context.tokens import count_async
from purser.context.tokens.windows import DEFAULT_WINDOW

Messages = Sequence[Mapping[str, Any]]
TEMPERATURE = 0.2
"""Low, because a summary must be faithful, not inventive."""


@dataclass(frozen=True, slots=True)
class WrittenSummary:
    """A reply whose attempt is yet to be settled, in the transaction that stores the summary."""

    text: str
    whole: bool
    """Whether the reply is complete, not cut at the output cap."""
    attempt: Attempt
    report: Report

    @property
    def hold_id(self) -> str:
        """The hold that pays for it."""
        return self.attempt.hold_id


class NotWritten(StrEnum):
    """Why there is no reply."""

    REFUSED = "refused"
    """The budget refused the call, or the key was closed."""
    TOO_LARGE = "too_large"
    """The request is larger than the model's window."""
    TIMEOUT = "timeout"
    NO_REPLY = "no_reply"
    """The provider failed."""

    @property
    def failed(self) -> bool:
        """Whether the model itself failed, so that an early retry is likely to fail too."""
        return self in (NotWritten.TIMEOUT, NotWritten.NO_REPLY)


class Summarizer:
    """Asks the configured model if the budget admits the request."""

    def __init__(
        self,
        model: str,
        provider: ModelProvider,
        ledger: Ledger,
        prices: PriceBook,
        *,
        api_base: str | None = None,
        timeout_s: float = 60,
        window: int = DEFAULT_WINDOW,
        on_verdict: OnVerdict = ignore_verdict,
        on_unpriced: Callable[[Unpriced], None] = ignore_unpriced,
    ) -> None:
        """Args:
        model: the model that writes.
        provider: sends the requests.
        ledger, prices: as in `SideCalls`.
        api_base: address of the model; `None`: its provider's own.
        timeout_s: seconds for a reply, less than the lease of a hold.
        window: window of the model in tokens.
        on_verdict: called with every verdict on a hold.
        on_unpriced: called for each charge without a price.
        """
        self.model = model
        self._provider = provider
        self._calls = SideCalls(model, ledger, prices, on_verdict, on_unpriced)
        self._api_base = api_base
        self._timeout_s = timeout_s
        self.window = window
        """Window of the model in tokens, including its reply."""

    async def write(
        self, tenant: str, key: str, path: Path, messages: Messages, most_tokens: int
    ) -> WrittenSummary | NotWritten:
        """Asks the model for a reply.

        Args:
            tenant, key, path: of the hold.
            messages: the request.
            most_tokens: most tokens of the reply.

        Returns:
            The reply, to be settled by `settle`; or why there is none: then no hold remains open, and the possible
            cost of an attempt is charged.

        Raises:
            LedgerUnavailable: try again under the same key.
        """
        # Takes seconds once per process, which must not count against the timeout of a request.
        await self._provider.warm_up()
        prompt_tokens = (await count_async(messages, (), self.model)).tokens
        if prompt_tokens + most_tokens > self.window:
            return NotWritten.TOO_LARGE

        async def ask() -> WrittenSummary | NotWritten:
            call = await self._calls.hold(tenant, key, path, prompt_tokens, most_tokens)
            return await self._ask(call, messages, prompt_tokens) if call else NotWritten.REFUSED

        return await self._calls.closed(tenant, key, ask(), otherwise=NotWritten.REFUSED)

    async def settle(self, written: WrittenSummary, connection: Connection | None = None) -> None:
        """Replaces the hold of a reply by its cost; joins the transaction of `connection`."""
        await self._calls.attempts.settle(written.attempt, written.report, connection)

    async def _ask(self, call: SideCall, messages: Messages, prompt_tokens: int) -> WrittenSummary | NotWritten:
        request = ModelRequest(
            self.model, messages, (), call.output_tokens, call.hold_id, self._api_base, TEMPERATURE,
            tokens=call.asked.tokens,
        )  # fmt: skip
        partial = PartialReply()
        try:
            async with asyncio.timeout(self._timeout_s):
                await self._provider.complete(request, partial, lambda: call.start(self._provider.keep_pace(request)))
        except asyncio.CancelledError:
            if call.attempt is not None:
                usage = await partial.charge_async(prompt_tokens, self.model) if partial.sent else Usage()
                await uncancelled(call.settle(usage, partial.provider_request_id))
            raise
        except NotStarted as failure:
            await uncancelled(call.failed(failure))
            return NotWritten.REFUSED
        except (ProviderError, TimeoutError) as failure:
            if not partial.complete:
                reported = await partial.charge_reported(prompt_tokens, self.model) if partial.sent else Usage()
                await uncancelled(call.failed(failure, reported))
                return NotWritten.TIMEOUT if isinstance(failure, TimeoutError) else NotWritten.NO_REPLY
        attempt, attempts = call.started, self._calls.attempts
        usage = await partial.charge_async(prompt_tokens, self.model)
        report = attempts.report(attempt, usage, partial.provider_request_id)
        return WrittenSummary(partial.message().text, partial.finish_reason != "length", attempt, report)
