"""Settlement of a request to a provider: its charge, stored together with its reply or the reason for having none."""

import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TypeVar

from purser.activities.calls.attempts import Attempt, Attempts
from purser.activities.calls.patience import outlasting
from purser.activities.models.partial_replies import PartialReply
from purser.activities.postgres.calls.calls import Call, Calls
from purser.activities.postgres.calls.outputs import Outputs
from purser.activities.runtime.metrics import Metrics
from purser.activities.tasks.agent_context import AgentContext
from purser.activities.tools import arguments_of
from purser.budget.errors import BudgetError
from purser.budget.learned_holds import output_seen
from purser.budget.postgres.connections.pools import Connection, Pool, connected, retrying
from purser.budget.usage import Usage
from purser.context.conversation.messages import Message
from purser.context.postgres.conversation.calibration import Calibrations
from purser.context.postgres.conversation.conversations import Conversations
from purser.context.tokens import tokenizer_of
from purser.workflows.contract import CallResult, CallStatus, ToolCall

T = TypeVar("T")
MAX_TOOL_CALLS = 128
"""Most tool calls of one reply: providers accept no more in a message, and each is an activity of the workflow."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Settlements:
    """Stores the ends of requests, each in one transaction."""

    pool: Pool
    calls: Calls
    outputs: Outputs
    conversations: Conversations
    attempts: Attempts
    calibrations: Calibrations
    metrics: Metrics

    async def reply(
        self, agent_context: AgentContext, call: Call, attempt: Attempt, partial: PartialReply
    ) -> CallResult:
        """Stores a reply and charges it. If another attempt has replied first, only the charge is stored."""
        message, usage = _bounded(partial.message()), await partial.charge_async(call.prompt_tokens, call.model)
        at_cap = partial.finish_reason == "length"

        async def step(own: Connection) -> tuple[int, Usage]:
            # The call's row is locked first: the transaction that holds it writes the reply.
            stored = await self.calls.lock(call, own)
            if stored is None:
                [seq] = await self.conversations.append(
                    agent_context.ref.tenant, agent_context.session_id, [message],
                    origin=f"call:{call.key}", thread=agent_context.thread, model=call.model, connection=own,
                )  # fmt: skip
                capped = partial.was_cut or (at_cap and attempt.cap < agent_context.output_cap)
                await self.calls.replied(call, seq, usage, capped=capped, connection=own)
                output = output_seen(usage, call.output_cap, streamed=partial.streamed, capped=at_cap)
                await self.outputs.add(call.agent.tenant, call.agent.agent_id, call.model, output, own)
            # Last, because it locks the balances of the tenant, for which all its calls wait.
            await self._charge(attempt, usage, own, partial)
            return stored or (seq, usage)

        seq, replied = await self._written(step)
        self.metrics.calls.hold_used(call.model, attempt.held.tokens, usage.total)
        await self._compare(call, usage)
        return await self.repeated(agent_context, seq, replied)

    async def repeated(self, agent_context: AgentContext, seq: int, usage: Usage | None) -> CallResult:
        """Returns the result for a reply that is already stored."""
        stored = await self.conversations.read(agent_context.ref.tenant, agent_context.session_id, [seq])
        tools = _tool_calls(agent_context, seq, stored[seq].message)
        return CallResult(CallStatus.REPLIED, seq, tools, tokens=usage.total if usage else 0)

    async def cut_off(self, call: Call, attempt: Attempt, partial: PartialReply, *, keep_open: bool) -> None:
        """Charges the tokens that a cancelled request has produced; nothing if it was never sent."""
        usage = await partial.charge_async(call.prompt_tokens, call.model) if partial.sent else Usage()
        await self._written(lambda own: self._charge(attempt, usage, own, partial, keep_open=keep_open))

    async def nothing(self, attempt: Attempt) -> None:
        """Settles a request that certainly cost nothing; the hold remains open for the next one."""
        await self.reported(attempt, Usage())

    async def reported(self, attempt: Attempt, usage: Usage) -> None:
        """Charges a request that failed but reported its usage; the hold remains open for the next one."""
        await self._written(lambda own: self._charge(attempt, usage, own, keep_open=True))

    async def give_up(self, call: Call, reason: str) -> CallResult:
        """Records that a call will have no reply."""
        await self._written(lambda own: self.calls.rejected(call, reason, own))
        return CallResult(CallStatus.REJECTED, reason=reason)

    async def _charge(
        self,
        attempt: Attempt,
        usage: Usage,
        own: Connection,
        partial: PartialReply | None = None,
        *,
        keep_open: bool = False,
    ) -> None:
        report = self.attempts.report(attempt, usage, partial.provider_request_id if partial else "")
        await self.attempts.settle(attempt, report, own, keep_open=keep_open)

    async def _compare(self, call: Call, usage: Usage) -> None:
        """Compares what was estimated with the reported usage, and calibrates by it. A lost report does no harm."""
        if usage.estimated or not usage.split_known:
            return
        self.metrics.calls.estimated(call.model, "prompt", call.prompt_tokens, usage.prompt)
        if call.learned_output is not None:
            self.metrics.calls.estimated(call.model, "output", call.learned_output, usage.output)
        counted = call.plan.prompt_tokens
        self.metrics.counted(tokenizer_of(call.model).encoding, counted, usage.prompt)
        with suppress(BudgetError):
            await self.calibrations.learn(call.agent.tenant, call.model, counted, usage.prompt)

    async def _written(self, step: Callable[[Connection], Awaitable[T]]) -> T:
        """Runs a step in a transaction, again while the database is unavailable."""

        async def transaction() -> T:
            async with connected(self.pool, None) as own, own.transaction():
                return await step(own)

        return await outlasting(lambda: retrying(transaction))


def _bounded(message: Message) -> Message:
    """A reply without the tool calls above the limit; the model may make them in a later turn."""
    if (made := len(message.tool_calls)) <= MAX_TOOL_CALLS:
        return message
    _log.warning("a reply has %d tool calls: only the first %d are stored and run", made, MAX_TOOL_CALLS)
    return replace(message, tool_calls=message.tool_calls[:MAX_TOOL_CALLS])


def _tool_calls(agent_context: AgentContext, seq: int, message: Message) -> tuple[ToolCall, ...]:
    """The tool calls of a reply as references, each with the activity that its tool declares.

    A call whose arguments are not complete has no activity, so that it never runs.
    """
    found = []
    for index, call in enumerate(message.tool_calls):
        function = call["function"]
        declared = "" if arguments_of(function) is None else function["name"]
        activity, task_queue = agent_context.activities.get(declared, ("", ""))
        ref = agent_context.ref
        found.append(
            ToolCall(
                tenant=ref.tenant,
                session_id=agent_context.session_id,
                task_id=ref.task_id,
                agent_id=ref.agent_id,
                seq=seq,
                index=index,
                activity=activity,
                task_queue=task_queue,
                # Any other name is text of the model, which stays out of histories.
                name=declared if activity else "",
                nano_usd=agent_context.tool_prices.get(declared, 0),
            )
        )
    return tuple(found)
