"""Admission of one call: plans its window by reference, estimates its usage and asks the gate for a hold.

The plan is stored under the key before the hold is asked for. An ask repeated under the key, after a lost answer, a
wait or an approval, therefore asks for the same amount.
"""

import asyncio
from dataclasses import dataclass
from functools import partial

from purser.activities.calls.shortages import shortage_of
from purser.activities.calls.window_extras import WindowExtras
from purser.activities.models.metrics import OnVerdict, ignore_verdict
from purser.activities.postgres.agents import Agents
from purser.activities.postgres.calls import Call, Calls
from purser.activities.runtime.settings import ActivitySettings
from purser.activities.tasks.agent_context import AgentContext, AgentContexts
from purser.budget.holds import HoldAnswer, HoldRequest
from purser.budget.policies import Mode
from purser.budget.postgres.connections.pools import Pool, connected, retrying
from purser.budget.postgres.ledger.ledger import Ledger
from purser.budget.postgres.ledger.policies import Policies
from purser.budget.pricing.call_prices import Quote, quote
from purser.budget.pricing.price_book import PriceBook
from purser.budget.reports.views import BudgetView
from purser.budget.usage import Usage
from purser.context.postgres.conversation.conversations import Conversations
from purser.context.strategies import STRATEGIES
from purser.context.windows import plan_window
from purser.context.windows.excerpts import Within
from purser.context.windows.plans import WindowPlan
from purser.workflows.contract import MAX_JITTER, AdmitInput, AdmitResult, Plan


@dataclass(frozen=True)
class Admission:
    """Admits calls through the stores of one pool."""

    pool: Pool
    agent_contexts: AgentContexts
    agents: Agents
    calls: Calls
    conversations: Conversations
    policies: Policies
    ledger: Ledger
    prices: PriceBook
    extras: WindowExtras
    settings: ActivitySettings
    on_verdict: OnVerdict = ignore_verdict
    """Called with every verdict."""

    async def admit(self, request: AdmitInput) -> AdmitResult:
        """Returns the gate's verdict, or the advice to compress first."""
        agent_context = await self.agent_contexts.of(request.agent)
        call = await self.calls.find(request.agent, request.key)
        if call is None:
            own = agent_context.path.scopes[-1:]
            [budget] = await self.policies.budgets_of(request.agent.tenant, own, request.agent.task_id)
            plan = await self._window(agent_context, budget)
            if plan.compress is not None and request.may_compress and _leaves_out(plan):
                return AdmitResult(
                    Plan.COMPRESS, verdict="", compress_thread=plan.compress, compress_budget=plan.budget
                )
            call = self._call(request, agent_context, plan, self._quote(agent_context, plan))
        return await self._held(call, agent_context, patient=request.patient)

    async def _window(self, agent_context: AgentContext, budget: BudgetView) -> WindowPlan:
        tenant, session_id, model = agent_context.ref.tenant, agent_context.session_id, agent_context.model
        by_whole = STRATEGIES[agent_context.context.strategy].chooses
        within = None if by_whole else Within(agent_context.window_tokens, agent_context.context.primers)
        session, own, personal, documents = await asyncio.gather(
            self.conversations.conversation(
                tenant, session_id, model=model, upto=agent_context.question.seq - 1, within=within
            ),
            self.conversations.conversation(tenant, session_id, agent_context.thread, model=model, within=within),
            self.extras.personal(agent_context),
            self.extras.documents(agent_context),
        )
        planned = partial(
            plan_window,
            agent_context.context,
            budget=agent_context.window_tokens,
            system_tokens=agent_context.system_tokens,
            session=session,
            question=agent_context.question,
            replies=agent_context.replies,
            own=own,
            left=self._left(agent_context, budget),
            personal=personal,
        )
        plan = planned(memory=documents)
        if not STRATEGIES[plan.strategy].retrieves:
            return plan
        return planned(memory=await self.extras.retrieved(agent_context, plan))

    def _left(self, agent_context: AgentContext, budget: BudgetView) -> int | None:
        """Tokens, as counted, that the agent's own limit leaves for input; `None` if it does not bound input."""
        policy = budget.policy
        if policy.limit_tokens is None or policy.mode is Mode.SOFT:
            return None
        headroom = policy.limit_tokens + (budget.granted - budget.spent - budget.held).tokens
        return max(
            0,
            agent_context.calibration.room(headroom - self._least_output(agent_context)) - agent_context.system_tokens,
        )

    def _least_output(self, agent_context: AgentContext) -> int:
        return min(self.settings.min_output_tokens, agent_context.output_cap)

    def _quote(self, agent_context: AgentContext, plan: WindowPlan) -> Quote:
        """Quotes what the call may use and cost, with its full and with its least output."""
        prompt_tokens = agent_context.calibration.tokens(plan.prompt_tokens)
        full, least = (
            Usage(input=prompt_tokens, output=cap)
            for cap in (agent_context.output_cap, self._least_output(agent_context))
        )
        return quote(self.prices, agent_context.model, full, least)

    def _call(self, request: AdmitInput, agent_context: AgentContext, plan: WindowPlan, quoted: Quote) -> Call:
        return Call(
            agent=request.agent,
            key=request.key,
            turn=request.turn,
            model=agent_context.model,
            plan=plan,
            output_cap=agent_context.output_cap,
            ask=quoted.full,
            least=quoted.least,
            priced=quoted.priced,
        )

    async def _held(self, call: Call, agent_context: AgentContext, *, patient: bool) -> AdmitResult:
        tenant = call.agent.tenant
        request = HoldRequest(
            call.key, agent_context.path, call.ask, call.least, model=call.model, patient=patient, priced=call.priced
        )

        async def step() -> HoldAnswer:
            async with connected(self.pool, None) as own, own.transaction():
                await self.calls.add(call, own)
                await self.agents.running(call.agent, own)
                answer = await self.ledger.hold(tenant, request, connection=own)
                if answer.hold_id is not None:
                    await self.calls.held(call, answer.hold_id, answer.gate, own)
                return answer

        answer = await retrying(step)
        self.on_verdict(answer.gate)
        await self._outlast_delay(tenant, answer)
        return _result(answer, call)

    async def _outlast_delay(self, tenant: str, answer: HoldAnswer) -> None:
        """Extends the lease so that it covers the sleep before the call."""
        delay_ms = round(answer.gate.delay_ms * (1 + MAX_JITTER))
        if answer.hold_id is not None and delay_ms > self.settings.lease_ms // 4:
            await self.ledger.extend(tenant, answer.hold_id, lease_ms=delay_ms + self.settings.lease_ms)


def _leaves_out(plan: WindowPlan) -> bool:
    """Whether something does not fit; only then does a turn wait for a compression."""
    return bool(plan.session.dropped or plan.own.dropped or plan.dropped_replies)


def _result(answer: HoldAnswer, call: Call) -> AdmitResult:
    gate, compress = answer.gate, call.plan.compress
    return AdmitResult(
        plan=Plan.CALL,
        verdict=gate.verdict,
        hold_id=answer.hold_id or "",
        tokens=answer.amount.tokens,
        nano_usd=answer.amount.nano_usd,
        delay_ms=gate.delay_ms,
        pressure=gate.pressure,
        short=shortage_of(gate, call.ask, answer.retry_after_ms),
        compress_thread=compress or "",
        compress_budget=0 if compress is None else call.plan.budget,
    )
