"""Calls a model under an admitted hold and stores its reply together with what it cost.

Every request to the provider is an attempt of its own: started in the ledger once it is ready to leave and before
anything is sent, settled with its reply in one transaction. An attempt that may have cost something and never told is
left to be presumed. A call that has its reply is never sent again.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from temporalio import activity
from temporalio.exceptions import ApplicationError

from purser.activities.background import beside, heartbeats
from purser.activities.calls.settlements import Attempt, Settlements
from purser.activities.calls.shortages import shortage_of
from purser.activities.calls.uncancelled import finished
from purser.activities.calls.window_extras import Asides
from purser.activities.errors import Cost, ProviderRejected, ProviderUnavailable
from purser.activities.models.departing import Departing, Exhausted, NotStarted
from purser.activities.models.partial_replies import Draft
from purser.activities.models.provider import ModelProvider, ModelRequest
from purser.activities.postgres.calls import Call, Calls
from purser.activities.settings import ActivitySettings
from purser.activities.tasks.agent_context import Brief, Briefs
from purser.budget.errors import BudgetError, HoldClosed
from purser.budget.holds import AttemptAnswer
from purser.budget.postgres.ledger.ledger import Ledger
from purser.context.postgres.conversation.conversations import Conversations
from purser.context.postgres.conversation.summaries import Summaries
from purser.context.windows import render
from purser.workflows.contract import ActivityName, CallInput, CallResult, CallStatus

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class CallModel:
    """Calls models."""

    briefs: Briefs
    calls: Calls
    conversations: Conversations
    summaries: Summaries
    ledger: Ledger
    provider: ModelProvider
    settlements: Settlements
    asides: Asides
    settings: ActivitySettings

    @activity.defn(name=ActivityName.CALL_MODEL)
    async def call_model(self, request: CallInput) -> CallResult:
        """The stored reply of the model, or why there is none."""
        brief = await self.briefs.of(request.agent)
        call = await self.calls.get(request.agent, request.key)
        if call.reply_seq is not None:
            return await self.settlements.repeated(brief, call, call.reply_seq, call.usage)
        if call.rejected is not None:
            return CallResult(CallStatus.REJECTED, reason=call.rejected)
        async with beside(heartbeats()), beside(self._renew_lease(request)):
            return await self._send(brief, call, request)

    async def _send(self, brief: Brief, call: Call, request: CallInput) -> CallResult:
        draft, departing = Draft(), Departing(self.ledger, request, call, self.settings.max_attempts)
        messages = await self._messages(brief, call)
        asked = ModelRequest(call.model, messages, brief.tools, call.output_cap, request.hold_id, brief.api_base)
        try:
            if activity.is_cancelled():
                raise asyncio.CancelledError
            await self.provider.complete(asked, draft, departing.leave)
        except asyncio.CancelledError:
            await finished(self._cut_off(call, departing.attempt, draft, request.hold_id))
            raise
        except HoldClosed:
            return CallResult(CallStatus.HOLD_LOST)
        except NotStarted as refusal:
            return await self._short(request, refusal.answer)
        except Exhausted as last:
            return await self._exhausted(call, last.attempt)
        except ProviderRejected as failure:
            return await self._refused(call, departing, draft, failure)
        except ProviderUnavailable as failure:
            if not draft.complete or departing.attempt is None:
                return await self._failed(call, departing, draft, failure)
        return await finished(self.settlements.reply(brief, call, departing.started, draft))

    async def _cut_off(self, call: Call, attempt: Attempt | None, draft: Draft, hold_id: str) -> None:
        """Charges what a cancelled request has produced."""
        asked = _asked_to_cancel()
        if attempt is not None:
            await self.settlements.cut_off(call, attempt, draft, keep_open=not asked)
        elif asked:
            await self.ledger.release(call.agent.tenant, hold_id=hold_id)

    async def _refused(self, call: Call, departing: Departing, draft: Draft, failure: ProviderRejected) -> CallResult:
        """Charges what a request may have cost that is not tried again."""
        attempt = departing.attempt
        _log.warning("hold %s: the request is not tried again: %s", departing.hold_id, failure.reason)
        await self._note(call, attempt, failure.reason)
        if attempt is not None and failure.cost is Cost.NOTHING:
            await finished(self.settlements.nothing(call, attempt))
        elif attempt is not None:
            await finished(self.settlements.cut_off(call, attempt, draft, keep_open=True))
        return await self.settlements.give_up(call, failure.reason)

    async def _failed(self, call: Call, departing: Departing, draft: Draft, failure: ProviderUnavailable) -> CallResult:
        """Charges what is known of a failed request, and has it tried again."""
        attempt = departing.attempt
        number = attempt.number if attempt is not None else activity.info().attempt
        if attempt is not None:
            _log.warning("request %s to a provider failed: %s", attempt.request_id, failure.reason)
            await self._note(call, attempt, failure.reason)
            if draft.usage is not None:
                await finished(self.settlements.reported(call, attempt, draft.usage))
            elif failure.cost is Cost.NOTHING:
                await finished(self.settlements.nothing(call, attempt))
        if number >= self.settings.max_attempts:
            return await self.settlements.give_up(call, failure.reason)
        delay_ms = failure.retry_after_ms
        if delay_ms is None:
            delay_ms = min(self.settings.retry_ms * 2 ** (number - 1), self.settings.max_retry_ms)
        with suppress(BudgetError):
            lease_ms = self.settings.lease_ms + delay_ms
            await self.ledger.extend(call.agent.tenant, departing.hold_id, lease_ms=lease_ms)
        raise ApplicationError(
            failure.reason, type="ProviderUnavailable", next_retry_delay=timedelta(milliseconds=delay_ms)
        )

    async def _note(self, call: Call, attempt: Attempt | None, reason: str) -> None:
        """Stores why an attempt failed, for people: what is charged does not depend on it."""
        if attempt is not None:
            with suppress(BudgetError):
                await self.calls.failed(call, attempt.number, reason)

    async def _messages(self, brief: Brief, call: Call) -> Sequence[Mapping[str, Any]]:
        """What the model gets to see, put together from references."""
        tenant, session_id, plan = brief.ref.tenant, brief.session_id, call.plan
        stored, summaries, (personal, memory) = await asyncio.gather(
            self.conversations.read(tenant, session_id, plan.seqs),
            self.summaries.texts(tenant, session_id, plan.versions),
            self.asides.rendered(brief, plan),
        )
        return render(plan, stored, summaries, brief.instructions, personal=personal, memory=memory)

    async def _short(self, request: CallInput, answer: AttemptAnswer) -> CallResult:
        """The top-up for another attempt did not fit: gives the hold back, so that the gate decides anew."""
        await self.ledger.release(request.agent.tenant, hold_id=request.hold_id)
        decision = answer.decision
        if decision is None:
            return CallResult(CallStatus.SHORT)
        return CallResult(CallStatus.SHORT, verdict=decision.verdict, short=shortage_of(decision, answer.amount))

    async def _exhausted(self, call: Call, attempt: Attempt) -> CallResult:
        """Every attempt has been paid for and none left a reply: what fails behind the provider must not pay on."""
        await finished(self.settlements.nothing(call, attempt))
        return await self.settlements.give_up(call, "reply_not_stored")

    async def _renew_lease(self, request: CallInput) -> None:
        lease_ms = self.settings.lease_ms
        while True:
            await asyncio.sleep(max(1.0, lease_ms / 3_000))
            with suppress(BudgetError):
                await self.ledger.extend(request.agent.tenant, request.hold_id, lease_ms=lease_ms)


def _asked_to_cancel() -> bool:
    """Whether the workflow cancels: a worker that shuts down leaves the hold to its successor."""
    details = activity.cancellation_details()
    return details is not None and details.cancel_requested
