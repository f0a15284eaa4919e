"""Admission of one call: plans its window by reference, estimates its usage and asks the gate for a hold.

The plan is stored under the key before the hold is asked for. An ask repeated under the key, after a lost answer, a
wait or an approval, therefore asks for the same amount.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial

from purser.activities.calls.closing import CONCLUDE, closing_of
from purser.activities.calls.ladder import CallLadder
from purser.activities.calls.room import CallRoom
from purser.activities.calls.shortages import shortage_of
from purser.activities.calls.waits import outlast_delay
from purser.activities.calls.window_extras import WindowExtras, counter_of
from purser.activities.models.accepted_messages import AcceptedMessages
from purser.activities.models.metrics import OnVerdict
from purser.activities.postgres.agents import Agents
from purser.activities.postgres.calls.calls import Call, Calls
from purser.activities.postgres.calls.outputs import Outputs
from purser.activities.runtime.settings import ActivitySettings
from purser.activities.tasks.agent_context import AgentContext, AgentContexts
from purser.activities.tools import NO_RESULT, Tools
from purser.budget.climbs import NO_STEPS, Climb, StepReached
from purser.budget.gate import Amount, GateAnswer, Verdict
from purser.budget.holds import HoldAnswer, HoldRequest
from purser.budget.learned_holds import output_to_hold
from purser.budget.postgres.connections.pools import Pool, connected, retrying
from purser.budget.postgres.ledger.ledger import Ledger
from purser.budget.pricing.call_prices import Quote, quote
from purser.budget.pricing.price_book import PriceBook
from purser.budget.refusals import Refusal
from purser.budget.reports.views import BudgetView
from purser.budget.usage import Usage
from purser.context.conversation.conversations import Conversation
from purser.context.conversation.messages import speaker_name
from purser.context.errors import WindowTooSmall
from purser.context.postgres.conversation.conversations import Conversations, origin_of_replies
from purser.context.strategies import STRATEGIES
from purser.context.tokens.calibration import is_calibrated
from purser.context.windows import plan_window
from purser.context.windows.agent_window import reply_line
from purser.context.windows.excerpts import Within
from purser.context.windows.linking import headed, linked
from purser.context.windows.plans import MemoryRef, PersonalRef, WindowPlan
from purser.workflows.contract import AdmitInput, AdmitResult, Plan, ToolCall

_log = logging.getLogger(__name__)
_Session = tuple[Conversation, Mapping[int, str]]
"""The session's own conversation, and the lines above its messages."""
_Texts = tuple[_Session, Conversation, PersonalRef | None, MemoryRef | None]
"""The session, the agent's own conversation, the personal settings and the documents."""


@dataclass(frozen=True)
class Admission:
    """Admits calls through the stores of one pool."""

    pool: Pool
    agent_contexts: AgentContexts
    agents: Agents
    calls: Calls
    outputs: Outputs
    conversations: Conversations
    room: CallRoom
    ledger: Ledger
    prices: PriceBook
    extras: WindowExtras
    settings: ActivitySettings
    ladder: CallLadder
    on_verdict: OnVerdict
    """Called with every verdict."""
    on_window: Callable[[WindowPlan], None]
    """Called with the window of every new call."""
    on_step: Callable[[str, int], None]
    """Called with kind of scope and number of every step of a ladder that a call takes."""

    async def admit(self, request: AdmitInput) -> AdmitResult:
        """Returns the gate's verdict, or the advice to compress first."""
        agent_context, call = await asyncio.gather(
            self.agent_contexts.of(request.agent), self.calls.find(request.agent, request.key)
        )
        if call is not None:
            return await self._admitted(call, agent_context, patient=request.patient)
        climb = NO_STEPS
        while True:
            try:
                found = await self._planned(request, agent_context, climb)
            except WindowTooSmall as error:
                await self.agents.fell_short(request.agent, error)
                raise
            if isinstance(found, AdmitResult):
                return found
            try:
                return await self._admitted(found, agent_context, patient=request.patient, climb=climb)
            except StepReached as further:
                climb = await self.ladder.climbed(climb, agent_context, found, further.gate)

    async def _planned(self, request: AdmitInput, declared: AgentContext, climb: Climb) -> Call | AdmitResult:
        """The call as it asks on these steps of its ladders, or the advice to compress first."""
        agent_context = await self._calibrated(await self.ladder.eased(declared, climb))
        own = agent_context.path.scopes[-1:]
        [budget], texts = await asyncio.gather(
            self.room.policies.budgets_of(request.agent.tenant, own, request.agent.task_id), self._texts(agent_context)
        )
        plan = await self._window(agent_context, texts, budget, climb.compression, last=request.last)
        if plan.compress == "" and plan.session.dropped:
            # A summary that others have made meanwhile may cover what they said: still better than to drop messages.
            texts = (await self._session(agent_context, newest_summary=True), *texts[1:])
            plan = await self._window(agent_context, texts, budget, climb.compression, last=request.last)
        if plan.compress is not None and request.may_compress and _leaves_out(plan):
            return AdmitResult(Plan.COMPRESS, verdict="", compress_thread=plan.compress, compress_budget=plan.budget)
        # The hold of a last call cannot grow: it gets its part of what is reserved, and no more.
        quantile = Decimal(0) if request.last else budget.policy.learned_holds
        output = await self._output(agent_context, quantile)
        call = self._call(request, agent_context, plan, output)
        return replace(call, ladder=climb.stored(declared.output_cap, call.output_cap))

    async def _calibrated(self, agent_context: AgentContext) -> AgentContext:
        """Corrects counts by the usage that was reported for the agent's last call."""
        if not is_calibrated(agent_context.model):
            return agent_context
        last = await self.calls.last_report(agent_context.ref, agent_context.model)
        return replace(agent_context, calibration=agent_context.calibration.following(*last)) if last else agent_context

    async def _texts(self, agent_context: AgentContext) -> _Texts:
        """Reads what the window of a call may show, by reference."""
        return await asyncio.gather(
            self._session(agent_context),
            self._own(agent_context),
            self.extras.personal(agent_context),
            self.extras.documents(agent_context),
        )

    async def _session(self, agent_context: AgentContext, *, newest_summary: bool = False) -> _Session:
        """Reads the session's own conversation as of the start of the task."""
        tenant, session_id, upto = agent_context.ref.tenant, agent_context.session_id, agent_context.question.seq - 1
        found = await self.conversations.conversation(
            tenant, session_id, model=agent_context.model, upto=upto, newest_summary=newest_summary,
            within=_within(agent_context),
        )  # fmt: skip
        said = [ref.seq for ref in found.messages if ref.role == "assistant" and not ref.call_ids]
        names = await self.conversations.names(tenant, session_id, said, origin=origin_of_replies("%")) if said else {}
        # Not every provider passes names on: without a line, the replies of all agents would be the agent's own.
        own_name = speaker_name(agent_context.ref.agent_id)
        return found, {seq: reply_line(name) for seq, name in names.items() if name != own_name}

    async def _own(self, agent_context: AgentContext) -> Conversation:
        """Reads the agent's own conversation, in which every call has a result: providers refuse any other."""
        ref, session_id = agent_context.ref, agent_context.session_id
        read = partial(
            self.conversations.conversation, ref.tenant, session_id, agent_context.thread,
            model=agent_context.model, within=_within(agent_context),
        )  # fmt: skip
        own = await read()
        # The tools of the last reply have ended: what they have not stored by now, no one will.
        for seq, index in own.unanswered:
            _log.warning("session %s: call %d of message %d has no result", session_id, index, seq)
            call = ToolCall(ref.tenant, session_id, ref.task_id, ref.agent_id, seq, index)
            await Tools(self.pool).store_result(call, NO_RESULT)
        return await read() if own.unanswered else own

    async def _window(
        self, agent_context: AgentContext, texts: _Texts, budget: BudgetView, share: Decimal, *, last: bool
    ) -> WindowPlan:
        """Plans the window of a call, of which it may fill a share."""
        (session, lines), own, personal, documents = texts
        left, system_tokens = await self.room.left(agent_context, budget, last=last), agent_context.system_tokens
        text = CONCLUDE if last else await self.room.line(agent_context)
        closing = await closing_of(agent_context.model, text)
        system_tokens += closing.tokens
        left = None if left is None else max(0, left - closing.tokens)
        whole = agent_context.window_tokens
        cut = left if share == 1 else min(int(whole * share), whole if left is None else left)
        session, own = (_with_header(one, agent_context.header_tokens) for one in (session, own))
        accepted = AcceptedMessages(agent_context.model, agent_context.api_base)
        session, own = accepted.counted(session), accepted.counted(own)
        count = counter_of(agent_context)
        session, own = linked(session, count, question_follows=True), linked(own, count)
        session = headed(session, lines, count)
        planned = partial(
            plan_window,
            agent_context.context,
            # What the last call may use is all that there is: required messages are clipped to it too.
            budget=whole if left is None or not last else min(whole, left),
            system_tokens=system_tokens,
            session=session,
            lines=lines,
            question=agent_context.question,
            question_characters=agent_context.question_characters,
            replies=agent_context.replies,
            reply_lines={one.seq: count(reply_line(one.agent_id)) for one in agent_context.replies},
            own=own,
            left=cut,
            personal=personal,
            memory=documents,
        )
        plan = replace(planned(), closing=closing.text)
        if STRATEGIES[plan.strategy].retrieves and self.extras.may_find(plan):
            planned = partial(planned, memory=await self.extras.retrieved(agent_context, plan))
            plan = replace(planned(), closing=closing.text)
        if not agent_context.recalls(plan):
            return plan
        recall = agent_context.recall_tokens
        planned = partial(
            planned,
            system_tokens=system_tokens + recall,
            left=None if cut is None else max(0, cut - recall),
        )
        return replace(await self.extras.counted(agent_context, planned), recall=True, closing=closing.text)

    async def _output(self, agent_context: AgentContext, quantile: Decimal) -> int:
        """Output tokens that the hold covers at first."""
        ref, cap = agent_context.ref, agent_context.output_cap
        if not quantile:
            return cap
        seen = await self.outputs.seen(ref.tenant, ref.agent_id, agent_context.model)
        return output_to_hold(seen, quantile, self.room.least_output(agent_context), cap)

    def _quote(self, agent_context: AgentContext, plan: WindowPlan, output: int) -> Quote:
        """Quotes what is held for the call at first, with this and with its least output."""
        prompt_tokens = agent_context.calibration.tokens(plan.prompt_tokens)
        full, least = (
            Usage(input=prompt_tokens, output=tokens) for tokens in (output, self.room.least_output(agent_context))
        )
        return quote(self.prices, agent_context.model, full, least)

    def _call(self, request: AdmitInput, agent_context: AgentContext, plan: WindowPlan, output: int) -> Call:
        quoted = self._quote(agent_context, plan, output)
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
            learned_output=output if output < agent_context.output_cap else None,
            last=request.last,
        )

    async def _admitted(
        self, call: Call, agent_context: AgentContext, *, patient: bool, climb: Climb | None = None
    ) -> AdmitResult:
        """Asks for the hold of a call.

        Args:
            call: the call.
            agent_context: its agent.
            patient: whether it can wait.
            climb: the steps that a new call has taken; `None`: the call is stored, and has decided.

        Raises:
            StepReached: a new call reaches further steps. Nothing is held or written.
        """
        tenant = call.agent.tenant
        request = HoldRequest(
            call.key, agent_context.path, call.ask, call.least, model=call.model, patient=patient, priced=call.priced,
            last_of=agent_context.last_of if call.last else None,
        )  # fmt: skip

        if climb is not None and await self.room.policies.have_ladders(tenant):
            answer, new = await retrying(partial(self._held_or_undone, call, request, climb))
        else:
            # Nothing else is in the transaction of the ask, so that it shares one with those of other calls.
            new = await retrying(partial(self.calls.add, call))
            answer = await self.ledger.hold(tenant, request)
            if answer.hold_id is not None:
                await self.calls.held(call, answer.hold_id, call.cap_of(answer.amount), answer.gate)
        if new:
            self._count(call)
        self.on_verdict(answer.gate)
        await outlast_delay(self.ledger, tenant, answer, self.settings.lease_ms)
        if answer.gate.verdict in (Verdict.ASK, Verdict.REFUSE):
            await self._remember_refusal(call, answer.gate)
        return _result(answer, call)

    async def _held_or_undone(self, call: Call, request: HoldRequest, climb: Climb) -> tuple[HoldAnswer, bool]:
        """Stores a call and asks for its hold; undoes both if it reaches further steps."""
        async with connected(self.pool, None) as own, own.transaction():
            new = await self.calls.add(call, own)
            answer = await self.ledger.hold(call.agent.tenant, request, connection=own)
            if new and not answer.repeated and climb.lacks(answer.gate):
                raise StepReached(answer.gate)
            if answer.hold_id is not None:
                await self.calls.held(call, answer.hold_id, call.cap_of(answer.amount), answer.gate, own)
            return answer, new

    def _count(self, call: Call) -> None:
        self.on_window(call.plan)
        for step in call.ladder:
            self.on_step(step["scope"].partition(":")[0], step["step"])

    async def _remember_refusal(self, call: Call, gate: GateAnswer) -> None:
        """Stores the figures behind a refusal; they have changed by the time that someone asks for them."""
        scope = gate.decisive.scope
        period_end = await self.room.policies.room_returns(call.agent.tenant, scope, call.ask, call.agent.task_id)
        await self.calls.refused(call, Refusal.of(gate, call.ask, period_end))


def _within(agent_context: AgentContext) -> Within:
    return Within(agent_context.window_tokens, agent_context.context.primers)


def _with_header(conversation: Conversation, tokens: int) -> Conversation:
    """The conversation with a summary that is longer by the line above it."""
    if not tokens or conversation.summary is None:
        return conversation
    return replace(conversation, summary=replace(conversation.summary, tokens=conversation.summary.tokens + tokens))


def _leaves_out(plan: WindowPlan) -> bool:
    """Whether something does not fit; only then does a turn wait for a compression."""
    return bool(plan.session.dropped or plan.own.dropped)


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
        may_conclude=not call.last and any(one.view.reserve != Amount() for one in gate.scopes),
    )
