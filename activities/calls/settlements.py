"""How a request to a provider ends in the records: its charge, and with it its reply or why there is none."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TypeVar

from purser.activities.metrics import Metrics
from purser.activities.models.partial_replies import Draft
from purser.activities.postgres.calls import Call, Calls
from purser.activities.tasks.agent_context import Brief
from purser.budget.decisions import Amount
from purser.budget.errors import BudgetError, LedgerUnavailable
from purser.budget.holds import MAX_CALL_TOKENS, Report
from purser.budget.postgres.connections.pools import Connection, Pool, connected, retrying
from purser.budget.postgres.ledger.ledger import Ledger
from purser.budget.pricing.prices import PriceBook
from purser.budget.pricing.quotes import Unpriced, charge, outcome_of
from purser.budget.usage import Usage
from purser.context.conversation.messages import Message
from purser.context.postgres.conversation.calibration import Calibrations
from purser.context.postgres.conversation.conversations import Conversations
from purser.context.tokens import tokenizer_of
from purser.workflows.contract import CallResult, CallStatus, ToolCall

T = TypeVar("T")
_PATIENCE_S = 300.0
"""How long a reply in hand waits for the database: to give up means to pay twice."""
_LONGEST_PAUSE_S = 5.0


@dataclass(frozen=True, slots=True)
class Attempt:
    """One request under a hold."""

    hold_id: str
    number: int
    cap: int
    """Output that it may produce."""

    @property
    def request_id(self) -> str:
        """Names the request at the provider."""
        return f"{self.hold_id}-{self.number}"


@dataclass(frozen=True)
class Settlements:
    """Ends of requests, each in one transaction."""

    pool: Pool
    calls: Calls
    conversations: Conversations
    ledger: Ledger
    prices: PriceBook
    calibrations: Calibrations
    metrics: Metrics

    async def reply(self, brief: Brief, call: Call, attempt: Attempt, draft: Draft) -> CallResult:
        """Stores a reply and charges it. Where another attempt has replied first, only the charge is stored."""
        message, usage = draft.message(), await draft.charge_async(call.prompt_tokens, call.model)

        async def step(own: Connection) -> tuple[int, Usage]:
            # The call's row first: whoever has it writes the reply.
            stored = await self.calls.lock(call, own)
            if stored is None:
                [seq] = await self.conversations.append(
                    brief.ref.tenant, brief.session_id, [message],
                    origin=f"call:{call.key}", thread=brief.thread, model=call.model, connection=own,
                )  # fmt: skip
                capped = draft.finish_reason == "length" and attempt.cap < call.output_cap
                await self.calls.replied(call, seq, usage, capped=capped, connection=own)
                stored = seq, usage
            await self._charge(call, attempt, usage, own)
            return stored

        seq, replied = await self._written(step)
        self.metrics.calls.estimated(call.prompt_tokens + attempt.cap, usage.total)
        await self._compare(call, usage)
        return await self.repeated(brief, call, seq, replied)

    async def repeated(self, brief: Brief, call: Call, seq: int, usage: Usage | None) -> CallResult:
        """The answer for a reply that is stored."""
        stored = await self.conversations.read(brief.ref.tenant, brief.session_id, [seq])
        tools = _tool_calls(brief, seq, stored[seq].message)
        return CallResult(CallStatus.REPLIED, seq, tools, tokens=usage.total if usage else 0)

    async def cut_off(self, call: Call, attempt: Attempt, draft: Draft, *, keep_open: bool) -> None:
        """Charges what a cancelled request has produced; nothing if it was never sent."""
        usage = await draft.charge_async(call.prompt_tokens, call.model) if draft.sent else Usage()
        await self._written(lambda own: self._charge(call, attempt, usage, own, keep_open=keep_open))

    async def nothing(self, call: Call, attempt: Attempt) -> None:
        """The request surely cost nothing; the hold stays for the next one."""
        await self._written(lambda own: self._charge(call, attempt, Usage(), own, keep_open=True))

    async def reported(self, call: Call, attempt: Attempt, usage: Usage) -> None:
        """The request failed and yet told its usage; the hold stays for the next one."""
        await self._written(lambda own: self._charge(call, attempt, usage, own, keep_open=True))

    async def give_up(self, call: Call, reason: str) -> CallResult:
        """Notes that a call will have no reply."""
        await self._written(lambda own: self.calls.rejected(call, reason, own))
        return CallResult(CallStatus.REJECTED, reason=reason)

    async def _charge(
        self, call: Call, attempt: Attempt, usage: Usage, own: Connection, *, keep_open: bool = False
    ) -> None:
        report = report_of(call.model, usage, call.ask, self.prices, self.metrics.calls.unpriced)
        await self.ledger.settle(
            call.agent.tenant, attempt.hold_id, attempt.number, report, keep_open=keep_open, connection=own
        )

    async def _compare(self, call: Call, usage: Usage) -> None:
        """Tells the counter how far off it was. A report that gets lost does no harm."""
        if usage.estimated or not usage.split_known:
            return
        counted = call.plan.prompt_tokens
        self.metrics.counted(tokenizer_of(call.model).encoding, counted, usage.prompt)
        with suppress(BudgetError):
            await self.calibrations.learn(call.agent.tenant, call.model, counted, usage.prompt)

    async def _written(self, step: Callable[[Connection], Awaitable[T]]) -> T:
        """Runs a step in a transaction and, while the database is away, again."""

        async def transaction() -> T:
            async with connected(self.pool, None) as own, own.transaction():
                return await step(own)

        async with asyncio.timeout(_PATIENCE_S):
            pause = 0.1
            while True:
                try:
                    return await retrying(transaction)
                except LedgerUnavailable:
                    await asyncio.sleep(pause)
                    pause = min(2 * pause, _LONGEST_PAUSE_S)


def report_of(model: str, usage: Usage, ask: Amount, prices: PriceBook, unpriced: Callable[[Unpriced], None]) -> Report:
    """Usage with what it cost.

    Usage beyond what any call can use is no usage: the call is charged its estimate, and its reply is kept.

    Args:
        model: that was called.
        usage: of one attempt.
        ask: what the call asked for when it was admitted.
        prices: of models.
        unpriced: called if nobody knows the price.
    """
    if usage.total > MAX_CALL_TOKENS:
        return Report(replace(Usage.from_total(ask.tokens), estimated=True), ask.nano_usd)
    report = charge(prices, model, usage, ask.nano_usd)
    if (outcome := outcome_of(report)) is not None:
        unpriced(outcome)
    return report


def _tool_calls(brief: Brief, seq: int, message: Message) -> tuple[ToolCall, ...]:
    """The calls of a reply as references, each with the activity that its tool was declared with."""
    found = []
    for index, call in enumerate(message.tool_calls):
        activity, task_queue = brief.activities.get(call["function"]["name"], ("", ""))
        ref = brief.ref
        found.append(
            ToolCall(ref.tenant, brief.session_id, ref.task_id, ref.agent_id, seq, index, activity, task_queue)
        )
    return tuple(found)
