"""The activity `call_model`: calls a model under an admitted hold and stores its reply together with its cost.

Every request to the provider is a separate attempt. It is started in the ledger when the request is ready and nothing
has been sent yet, and settled with its reply in one transaction. An attempt that may have cost something but reported
no usage is left open, to be charged as presumed. A call that has its reply is never sent again.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, NoReturn

from temporalio import activity
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory

from purser.activities.calls.attempt_starter import AttemptsExhausted, AttemptStarter
from purser.activities.calls.attempts import Attempt, NotStarted, known_usage, renewed
from purser.activities.calls.growing_holds import GrowingHold
from purser.activities.calls.settlements import Settlements
from purser.activities.calls.shortages import shortage_of
from purser.activities.calls.uncancelled import uncancelled
from purser.activities.calls.window_extras import WindowExtras, counter_of
from purser.activities.errors import Cost, ProviderRejected, ProviderUnavailable
from purser.activities.models.accepted_messages import AcceptedMessages
from purser.activities.models.partial_replies import PartialReply
from purser.activities.models.provider import ModelProvider, ModelRequest
from purser.activities.pacing.pacer import Paced
from purser.activities.postgres.calls.calls import Call, Calls
from purser.activities.runtime.background import heartbeats, in_background
from purser.activities.runtime.settings import ActivitySettings
from purser.activities.tasks.agent_context import AgentContext, AgentContexts
from purser.budget.errors import BudgetError, HoldClosed
from purser.budget.postgres.ledger.ledger import Ledger
from purser.budget.pricing.price_book import PriceBook
from purser.context.postgres.conversation.conversations import Conversations
from purser.context.postgres.conversation.summaries import Summaries
from purser.context.windows import render
from purser.workflows.contract import ActivityName, CallInput, CallResult, CallStatus

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class CallModel:
    """The activity `call_model`."""

    agent_contexts: AgentContexts
    calls: Calls
    conversations: Conversations
    summaries: Summaries
    ledger: Ledger
    prices: PriceBook
    provider: ModelProvider
    settlements: Settlements
    extras: WindowExtras
    settings: ActivitySettings

    @activity.defn(name=ActivityName.CALL_MODEL)
    async def call_model(self, request: CallInput) -> CallResult:
        """Returns the stored reply of the model, or why there is none."""
        call = await self.calls.get(request.agent, request.key)
        agent_context = await self.agent_contexts.of(request.agent, call.model)
        if call.reply_seq is not None:
            return await self.settlements.repeated(agent_context, call.reply_seq, call.usage)
        if call.rejected is not None:
            return CallResult(CallStatus.REJECTED, reason=call.rejected)
        renewing = renewed(self.ledger, request.agent.tenant, request.hold_id, self.settings.lease_ms)
        async with in_background(heartbeats()), in_background(renewing):
            return await self._send(agent_context, call, request)

    async def _send(self, agent_context: AgentContext, call: Call, request: CallInput) -> CallResult:
        messages = await self._messages(agent_context, call)
        tools = agent_context.offered(recall=call.plan.recall)
        asked = ModelRequest(
            call.model,
            messages,
            tools,
            call.output_cap,
            request.hold_id,
            agent_context.api_base,
            text_only=call.last,
            tokens=call.ask.tokens,
        )
        pace = partial(self.provider.pace, asked, call.agent.tenant, call.key)
        reply, hold = PartialReply(), GrowingHold(self.ledger, self.prices, call, agent_context.calibration)
        starter = AttemptStarter(self.settlements.attempts, request, call, self.settings.max_attempts, hold.most, pace)
        try:
            if activity.is_cancelled():
                raise asyncio.CancelledError
            await self.provider.complete(
                asked, reply, starter.start, lambda so_far: hold.covers(so_far, starter.started)
            )
        except asyncio.CancelledError:
            await uncancelled(self._cut_off(call, starter.attempt, reply, request.hold_id))
            raise
        except HoldClosed:
            return CallResult(CallStatus.HOLD_LOST)
        except NotStarted as refusal:
            return await self._short(request, refusal)
        except Paced as pause:
            await self._wait(call, request, pause.wait_ms)
        except AttemptsExhausted as last:
            return await self._exhausted(call, last.attempt)
        except ProviderRejected as failure:
            return await self._refused(call, starter, reply, failure)
        except ProviderUnavailable as failure:
            if not reply.complete or starter.attempt is None:
                return await self._failed(call, starter, reply, failure)
        return await uncancelled(self.settlements.reply(agent_context, call, starter.started, reply))

    async def _cut_off(self, call: Call, attempt: Attempt | None, partial: PartialReply, hold_id: str) -> None:
        """Charges the tokens that a cancelled request has produced."""
        asked = _asked_to_cancel()
        if attempt is not None:
            await self.settlements.cut_off(call, attempt, partial, keep_open=not asked)
        elif asked:
            await self.ledger.release(call.agent.tenant, hold_id=hold_id)

    async def _refused(
        self, call: Call, starter: AttemptStarter, partial: PartialReply, failure: ProviderRejected
    ) -> CallResult:
        """Charges what a rejected request may have cost and gives the call up."""
        attempt = starter.attempt
        _log.warning("hold %s: the request is not retried: %s", starter.hold_id, failure.reason)
        await self._note(call, attempt, failure.reason)
        if attempt is not None and failure.cost is Cost.NOTHING:
            await uncancelled(self.settlements.nothing(attempt))
        elif attempt is not None:
            await uncancelled(self.settlements.cut_off(call, attempt, partial, keep_open=True))
        return await self.settlements.give_up(call, failure.reason)

    async def _failed(
        self, call: Call, starter: AttemptStarter, partial: PartialReply, failure: ProviderUnavailable
    ) -> CallResult:
        """Charges the known cost of a failed request and raises, so that Temporal retries the activity."""
        attempt = starter.attempt
        number = attempt.number if attempt is not None else activity.info().attempt
        if attempt is not None:
            _log.warning("request %s to a provider failed: %s", attempt.permit.request_id, failure.reason)
            await self._note(call, attempt, failure.reason)
            reported = await partial.charge_reported(call.prompt_tokens, call.model)
            if (usage := known_usage(failure, reported)) is not None:
                await uncancelled(self.settlements.reported(attempt, usage))
        if number >= self.settings.max_attempts:
            return await self.settlements.give_up(call, failure.reason)
        delay_ms = failure.retry_after_ms
        if delay_ms is None:
            delay_ms = min(self.settings.retry_ms * 2 ** (number - 1), self.settings.max_retry_ms)
        with suppress(BudgetError):
            lease_ms = self.settings.lease_ms + delay_ms
            await self.ledger.extend(call.agent.tenant, starter.hold_id, lease_ms=lease_ms)
        raise ApplicationError(
            failure.reason, type="ProviderUnavailable", next_retry_delay=timedelta(milliseconds=delay_ms)
        )

    async def _wait(self, call: Call, request: CallInput, wait_ms: int) -> NoReturn:
        """Raises, so that Temporal runs the activity again when the provider's pace allows the request."""
        self.settlements.metrics.calls.paced(call.model, wait_ms / 1_000)
        with suppress(BudgetError):
            await self.ledger.extend(call.agent.tenant, request.hold_id, lease_ms=self.settings.lease_ms + wait_ms)
        raise ApplicationError(
            "paced",
            type="ProviderPaced",
            next_retry_delay=timedelta(milliseconds=wait_ms),
            category=ApplicationErrorCategory.BENIGN,
        )

    async def _note(self, call: Call, attempt: Attempt | None, reason: str) -> None:
        """Stores why an attempt failed. This is for display only: charges do not depend on it."""
        if attempt is not None:
            with suppress(BudgetError):
                await self.calls.failed(call, attempt.number, reason)

    async def _messages(self, agent_context: AgentContext, call: Call) -> Sequence[Mapping[str, Any]]:
        """Renders the messages of the request from the references of the plan."""
        tenant, session_id, plan = agent_context.ref.tenant, agent_context.session_id, call.plan
        stored, summaries, (personal, memory) = await asyncio.gather(
            self.conversations.read(tenant, session_id, plan.seqs),
            self.summaries.texts(tenant, session_id, plan.versions),
            self.extras.rendered(agent_context, plan),
        )
        rendered = partial(
            render, plan, stored, summaries, agent_context.instructions,
            count=counter_of(agent_context), personal=personal, memory=memory,
            order=agent_context.context.order, header=agent_context.context.summary_header,
        )  # fmt: skip
        accepted = AcceptedMessages(call.model, agent_context.api_base)
        return await asyncio.to_thread(lambda: accepted.of(rendered()))

    async def _short(self, request: CallInput, refusal: NotStarted) -> CallResult:
        """Releases the hold after a top-up for another attempt did not fit, so that the gate decides again."""
        await self.ledger.release(request.agent.tenant, hold_id=request.hold_id)
        short = shortage_of(refusal.gate, refusal.amount)
        return CallResult(CallStatus.SHORT, verdict=refusal.gate.verdict, short=short)

    async def _exhausted(self, call: Call, attempt: Attempt) -> CallResult:
        """Gives up after the last attempt: if replies cannot be stored, further attempts would only cost more."""
        await uncancelled(self.settlements.nothing(attempt))
        return await self.settlements.give_up(call, "reply_not_stored")


def _asked_to_cancel() -> bool:
    """Whether the workflow cancels. A worker that shuts down leaves the hold to the next one instead."""
    details = activity.cancellation_details()
    return details is not None and details.cancel_requested
