"""Admission of one call: plan its window by reference, estimate it, and set the estimate aside.

The plan is stored with the key before the hold is asked for. Whoever asks again under the key, after a lost answer, a
wait or an approval, asks for the same.
"""

import asyncio
from dataclasses import dataclass
from functools import partial

from purser.activities.calls.shortages import shortage_of
from purser.activities.calls.window_extras import Asides
from purser.activities.models.metrics import Decided, nobody
from purser.activities.postgres.agents import Agents
from purser.activities.postgres.calls import Call, Calls
from purser.activities.settings import ActivitySettings
from purser.activities.tasks.agent_context import Brief, Briefs
from purser.budget.holds import HoldAnswer, HoldRequest
from purser.budget.policies import Mode
from purser.budget.postgres.connections.pools import Pool, connected, retrying
from purser.budget.postgres.ledger.ledger import Ledger
from purser.budget.postgres.ledger.policies import Policies
from purser.budget.pricing.prices import PriceBook
from purser.budget.pricing.quotes import Quote, quote
from purser.budget.reports.views import BudgetView
from purser.budget.usage import Usage
from purser.context.postgres.conversation.conversations import Conversations
from purser.context.strategies import STRATEGIES
from purser.context.windows import plan_window
from purser.context.windows.excerpts import Within
from purser.context.windows.plans import WindowPlan
from purser.workflows.contract import AdmitInput, AdmitResult, Plan

_LONGEST_SHARE_OF_CHANCE = 0.2
"""Of a delay, as the workflow adds it."""


@dataclass(frozen=True)
class Admission:
    """Admits calls through the stores of one pool."""

    pool: Pool
    briefs: Briefs
    agents: Agents
    calls: Calls
    conversations: Conversations
    policies: Policies
    ledger: Ledger
    prices: PriceBook
    asides: Asides
    settings: ActivitySettings
    decided: Decided = nobody
    """Told of every verdict."""

    async def admit(self, request: AdmitInput) -> AdmitResult:
        """The gate's answer, or the advice to compress first."""
        brief = await self.briefs.of(request.agent)
        call = await self.calls.find(request.agent, request.key)
        if call is None:
            own = brief.path.scopes[-1:]
            [budget] = await self.policies.budgets_of(request.agent.tenant, own, request.agent.task_id)
            plan = await self._window(brief, budget)
            if plan.compress is not None and request.may_compress and _leaves_out(plan):
                return AdmitResult(
                    Plan.COMPRESS, verdict="", compress_thread=plan.compress, compress_budget=plan.budget
                )
            call = self._call(request, brief, plan, self._quote(brief, plan))
        return await self._held(call, brief, patient=request.patient)

    async def _window(self, brief: Brief, budget: BudgetView) -> WindowPlan:
        tenant, session_id, model = brief.ref.tenant, brief.session_id, brief.model
        by_whole = STRATEGIES[brief.context.strategy].chooses
        within = None if by_whole else Within(brief.window_tokens, brief.context.primers)
        session, own, personal, documents = await asyncio.gather(
            self.conversations.conversation(
                tenant, session_id, model=model, upto=brief.question.seq - 1, within=within
            ),
            self.conversations.conversation(tenant, session_id, brief.thread, model=model, within=within),
            self.asides.personal(brief),
            self.asides.documents(brief),
        )
        planned = partial(
            plan_window,
            brief.context,
            budget=brief.window_tokens,
            system_tokens=brief.system_tokens,
            session=session,
            question=brief.question,
            replies=brief.replies,
            own=own,
            left=self._left(brief, budget),
            personal=personal,
        )
        plan = planned(memory=documents)
        if not STRATEGIES[plan.strategy].retrieves:
            return plan
        return planned(memory=await self.asides.retrieved(brief, plan))

    def _left(self, brief: Brief, budget: BudgetView) -> int | None:
        """Tokens, as they are counted, that the agent's own limit leaves for input, where it is a bound."""
        policy = budget.policy
        if policy.limit_tokens is None or policy.mode is Mode.SOFT:
            return None
        headroom = policy.limit_tokens + (budget.granted - budget.spent - budget.held).tokens
        return max(0, brief.calibration.room(headroom - self._least_output(brief)) - brief.system_tokens)

    def _least_output(self, brief: Brief) -> int:
        return min(self.settings.min_output_tokens, brief.output_cap)

    def _quote(self, brief: Brief, plan: WindowPlan) -> Quote:
        """What the call may use and cost, with its full and with its least output."""
        prompt_tokens = brief.calibration.tokens(plan.prompt_tokens)
        full, least = (Usage(input=prompt_tokens, output=cap) for cap in (brief.output_cap, self._least_output(brief)))
        return quote(self.prices, brief.model, full, least)

    def _call(self, request: AdmitInput, brief: Brief, plan: WindowPlan, quoted: Quote) -> Call:
        return Call(
            agent=request.agent,
            key=request.key,
            turn=request.turn,
            model=brief.model,
            plan=plan,
            output_cap=brief.output_cap,
            ask=quoted.full,
            least=quoted.least,
            priced=quoted.priced,
        )

    async def _held(self, call: Call, brief: Brief, *, patient: bool) -> AdmitResult:
        tenant = call.agent.tenant
        request = HoldRequest(
            call.key, brief.path, call.ask, call.least, model=call.model, patient=patient, priced=call.priced
        )

        async def step() -> HoldAnswer:
            async with connected(self.pool, None) as own, own.transaction():
                await self.calls.add(call, own)
                await self.agents.running(call.agent, own)
                answer = await self.ledger.hold(tenant, request, connection=own)
                if answer.hold_id is not None:
                    await self.calls.held(call, answer.hold_id, answer.decision, own)
                return answer

        answer = await retrying(step)
        self.decided(answer.decision)
        await self._outlast_delay(tenant, answer)
        return _result(answer, call)

    async def _outlast_delay(self, tenant: str, answer: HoldAnswer) -> None:
        """The sleep before the call is inside the lease."""
        delay_ms = round(answer.decision.delay_ms * (1 + _LONGEST_SHARE_OF_CHANCE))
        if answer.hold_id is not None and delay_ms > self.settings.lease_ms // 4:
            await self.ledger.extend(tenant, answer.hold_id, lease_ms=delay_ms + self.settings.lease_ms)


def _leaves_out(plan: WindowPlan) -> bool:
    """Whether something does not fit: only then does a turn wait for a compression."""
    return bool(plan.session.dropped or plan.own.dropped or plan.dropped_replies)


def _result(answer: HoldAnswer, call: Call) -> AdmitResult:
    decision, compress = answer.decision, call.plan.compress
    return AdmitResult(
        plan=Plan.CALL,
        verdict=decision.verdict,
        hold_id=answer.hold_id or "",
        tokens=answer.amount.tokens,
        nano_usd=answer.amount.nano_usd,
        delay_ms=decision.delay_ms,
        pressure=decision.pressure,
        short=shortage_of(decision, call.ask, answer.retry_after_ms),
        compress_thread=compress or "",
        compress_budget=0 if compress is None else call.plan.budget,
    )
