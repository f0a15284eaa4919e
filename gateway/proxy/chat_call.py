"""One call of a chat model through the proxy: held before it leaves, charged for what was produced however it ends."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from purser.activities.calls.uncancelled import uncancelled
from purser.activities.errors import ProviderError
from purser.activities.models.partial_replies import PartialReply
from purser.activities.models.provider import ModelRequest
from purser.budget.errors import BudgetError
from purser.budget.usage import Usage
from purser.context.tokens import count_async
from purser.context.tokens.calibration import is_calibrated
from purser.gateway.access.roles import Principal
from purser.gateway.proxy.callers import CallTerms
from purser.gateway.proxy.held_call import Charged, HeldCall
from purser.gateway.proxy.verdicts import NotAdmitted
from purser.gateway.services import Services

OnChoice = Callable[[Mapping[str, Any]], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """What a client asks of a model, in the format of the OpenAI API."""

    model: str
    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[Mapping[str, Any]] = ()
    cap: int | None = None
    """Most output tokens; `None`: not stated."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Further parameters, which are passed on."""


class ChatCall:
    """A chat request under the gate."""

    def __init__(self, use: Services, caller: Principal, terms: CallTerms, asked: ChatRequest) -> None:
        self.held = HeldCall(use, caller, terms, asked.model)
        self._use = use
        self._tenant = caller.tenant
        self._terms = terms
        self._asked = asked
        self._counted = 0
        self._prompt_tokens = 0
        self.cap = 0
        """Most output tokens of the request: fewer than asked for if only those fit."""

    async def admit(self) -> None:
        """Counts the prompt and holds the most that the call may use; see `HeldCall.admit`. Raises `InvalidMessage`."""
        asked = self._asked
        self._counted = await _count(asked)
        self._prompt_tokens = await _calibrated(self._use, self._tenant, asked.model, self._counted)
        cap, most = asked.cap or self._use.proxy_output_tokens, self._use.prices.max_output_tokens(asked.model)
        cap = min(cap, most) if most else cap
        full = Usage(input=self._prompt_tokens, output=cap)
        least = Usage(input=self._prompt_tokens, output=min(cap, self._terms.least_output or cap))
        answer = await self.held.admit(full, least)
        self.cap = cap if answer.amount.tokens == full.total else answer.amount.tokens - self._prompt_tokens

    async def run(self, partial: PartialReply, on_choice: OnChoice) -> Charged:
        """Sends the request and charges it; `on_choice` gets each part of the reply as it arrives.

        Cancelling it cancels the request, and charges what was produced.

        Raises:
            ProviderError: the provider did not answer; what it may have cost is charged.
        """
        asked, held, provider = self._asked, self.held, self._use.provider
        request = ModelRequest(
            asked.model,
            asked.messages,
            asked.tools,
            self.cap,
            held.hold_id,
            self._terms.api_base,
            tokens=self._prompt_tokens + self.cap,
            options=asked.options,
        )
        async with held.leased():
            try:
                await held.outlast_delay()
                await provider.complete(
                    request,
                    partial,
                    lambda: held.start(self.cap, lambda: provider.keep_pace(request)),
                    on_chunk=on_choice,
                )
            except asyncio.CancelledError:
                await uncancelled(self._cut_off(partial))
                raise
            except ProviderError as failure:
                if not partial.complete or not held.started:
                    await uncancelled(held.failed(failure, partial.usage))
                    raise
            except (BudgetError, NotAdmitted):
                await uncancelled(held.give_up())
                raise
            return await uncancelled(self._settle(partial))

    async def _settle(self, partial: PartialReply) -> Charged:
        usage = await partial.charge_async(self._prompt_tokens, self._asked.model)
        charged = await self.held.charge(usage)
        if is_calibrated(self._asked.model) and usage.split_known and not usage.estimated:
            with suppress(BudgetError):
                await self._use.sessions.calibrations.learn(
                    self._tenant, self._asked.model, self._counted, usage.prompt
                )
        return charged

    async def _cut_off(self, partial: PartialReply) -> None:
        """Charges what a cancelled request has produced."""
        if not self.held.started:
            await self.held.give_up()
            return
        sent = await partial.charge_async(self._prompt_tokens, self._asked.model) if partial.sent else Usage()
        await self.held.charge(sent)


async def prompt_tokens(use: Services, tenant: str, asked: ChatRequest) -> int:
    """Input tokens of a request, as a hold counts them; raises `InvalidMessage`."""
    return await _calibrated(use, tenant, asked.model, await _count(asked))


async def _count(asked: ChatRequest) -> int:
    return (await count_async(asked.messages, asked.tools, asked.model)).tokens


async def _calibrated(use: Services, tenant: str, model: str, counted: int) -> int:
    return (await use.sessions.calibrations.of(tenant, model)).tokens(counted)
