"""One call of a chat model through the proxy: held before it leaves, charged for what was produced however it ends."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from purser.activities.calls.ladder import reachable
from purser.activities.calls.uncancelled import uncancelled
from purser.activities.errors import ProviderError
from purser.activities.models.partial_replies import PartialReply
from purser.activities.models.provider import ModelRequest
from purser.budget.climbs import NO_STEPS, Climb, StepReached
from purser.budget.errors import BudgetError
from purser.budget.usage import Usage
from purser.context.tokens import count_async
from purser.context.tokens.calibration import is_calibrated
from purser.context.tokens.messages import as_json, further_fields, is_short
from purser.gateway.access.roles import Principal
from purser.gateway.proxy.callers import CallTerms
from purser.gateway.proxy.held_call import Charged, HeldCall
from purser.gateway.proxy.verdicts import NotAdmitted
from purser.gateway.proxy.windowing import WindowTerms, windowed
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

    @property
    def counted(self) -> Sequence[Mapping[str, Any]]:
        """What is counted as messages: they, their further fields, and parameters that are no settings but texts."""
        texts = [text for message in self.messages for text in further_fields(message)]
        texts += [as_json(value) for value in self.options.values() if not is_short(value)]
        return [*self.messages, {"content": texts}] if texts else self.messages


class ChatCall:
    """A chat request under the gate."""

    def __init__(self, use: Services, caller: Principal, terms: CallTerms, asked: ChatRequest) -> None:
        self.held = HeldCall(use, caller, terms, asked.model)
        self._use = use
        self._caller = caller
        self._terms = terms
        self._given = asked
        self._asked = asked
        """What is sent: the window and the model may be smaller than given."""
        self._counted = 0
        self._prompt_tokens = 0
        self.cap = 0
        """Most output tokens of the request: fewer than asked for if only those fit."""
        self.headers: Mapping[str, str] = {}
        """What its answer says about its window, if the request asks for one."""

    async def admit(self) -> None:
        """Counts the prompt and holds the most that the call may use; see `HeldCall.admit`.

        A call that reaches steps of ladders takes them first, by the rule of the calls of agents. Its messages stay.

        Raises:
            InvalidMessage, InvalidRequest, WindowTooSmall: it cannot be counted, or its window cannot be built.
        """
        asked, climb = self._given, NO_STEPS
        self._asked, self._counted = asked, 0
        declared = self._fitting(asked.model, asked.cap or self._use.proxy_output_tokens)
        if self._terms.window is not None:
            await self._windowed(asked, self._terms.window, declared)
        while True:
            await self._count_prompt(climb.model or asked.model)
            cap = climb.output_cap(declared, self._terms.least_output or self._use.min_output_tokens)
            cap = self._fitting(self._asked.model, cap)
            self.held.steps = climb.stored(declared, cap, compresses=False)
            full = Usage(input=self._prompt_tokens, output=cap)
            try:
                await self._hold(full, climb)
            except StepReached as further:
                allowed = await reachable(climb, further.gate, self._use.provider.reaches, self._terms.api_base)
                climb = climb.after(further.gate, full, asked.model, self._use.prices, allowed)
            else:
                return

    async def _hold(self, full: Usage, climb: Climb) -> None:
        least = Usage(input=self._prompt_tokens, output=min(full.output, self._terms.least_output or full.output))
        try:
            answer = await self.held.admit(full, least, climb, climb.model or self._given.model)
        except NotAdmitted:
            self._count_steps()
            raise
        if self.held.model != self._asked.model:
            await self._count_prompt(self.held.model)
        held = answer.amount.tokens
        # A hold that a repetition has joined may be larger or smaller than it would be now.
        self.cap = min(full.output, max(1, held - self._prompt_tokens))
        if not answer.repeated:
            self._count_steps()

    def _fitting(self, model: str, cap: int) -> int:
        most = self._use.prices.max_output_tokens(model)
        return min(cap, most) if most else cap

    async def _count_prompt(self, model: str) -> None:
        """Counts the prompt for the model that is called."""
        if self._counted and model == self._asked.model:
            return
        self._asked = replace(self._asked, model=model)
        self._counted = await _count(self._use, self._caller, self._asked)
        self._prompt_tokens = await _calibrated(self._use, self._caller.tenant, model, self._counted)

    def _count_steps(self) -> None:
        for step in self.held.steps:
            self._use.metrics.calls.climbed(step["scope"].partition(":")[0], step["step"])

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
                    await uncancelled(self._failed(partial, failure))
                    raise
            except (BudgetError, NotAdmitted):
                await uncancelled(held.give_up())
                raise
            return await uncancelled(self._settle(partial))

    async def _windowed(self, asked: ChatRequest, terms: WindowTerms, cap: int) -> None:
        room = self._use.context.settings.window_of(asked.model, self._use.prices) - cap
        shown = await self._use.counting.in_thread(
            self._caller.key_id,
            lambda: windowed(asked.messages, asked.tools, terms, model=asked.model, room=room),
        )
        self.headers = shown.headers
        self._asked = replace(asked, messages=shown.messages)

    async def _settle(self, partial: PartialReply) -> Charged:
        usage = await partial.charge_async(self._prompt_tokens, self._asked.model)
        charged = await self.held.charge(usage, partial.provider_request_id)
        # What is counted besides the messages may be free at this provider, and would make later holds too small.
        only_messages = self._asked.counted is self._asked.messages
        if is_calibrated(self._asked.model) and usage.split_known and not usage.estimated and only_messages:
            with suppress(BudgetError):
                await self._use.sessions.calibrations.learn(
                    self._caller.tenant, self._asked.model, self._counted, usage.prompt
                )
        return charged

    async def _failed(self, partial: PartialReply, failure: ProviderError) -> None:
        """Charges what a failed request has cost."""
        reported = await partial.charge_reported(self._prompt_tokens, self._asked.model)
        await self.held.failed(failure, reported)

    async def _cut_off(self, partial: PartialReply) -> None:
        """Charges what a cancelled request has produced."""
        if not self.held.started:
            await self.held.give_up()
            return
        sent = await partial.charge_async(self._prompt_tokens, self._asked.model) if partial.sent else Usage()
        await self.held.charge(sent, partial.provider_request_id)


async def prompt_tokens(use: Services, caller: Principal, asked: ChatRequest) -> int:
    """Input tokens of a request, as a hold counts them; raises `InvalidMessage`."""
    return await _calibrated(use, caller.tenant, asked.model, await _count(use, caller, asked))


async def _count(use: Services, caller: Principal, asked: ChatRequest) -> int:
    counted = await count_async(
        asked.counted, asked.tools, asked.model, in_thread=lambda work: use.counting.in_thread(caller.key_id, work)
    )
    return counted.tokens


async def _calibrated(use: Services, tenant: str, model: str, counted: int) -> int:
    return (await use.sessions.calibrations.of(tenant, model)).tokens(counted)
