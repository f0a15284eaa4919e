"""Agents that call a model in parallel on one budget: simulated time, real ledger, real top-ups.

An agent is one recorded conversation. It asks for a hold, waits as the gate says, receives its reply in pieces and
settles. Each step has its place in simulated time, and all run one after the other, so that a run can be repeated.

It takes the steps of ladders that its asks reach, by the rules of admission. A smaller window keeps system messages and
the newest message of the recorded prompt, and of the others as much as fits. Where a call is refused and a budget
reserves a part for last answers, the conversation ends with one, as long as its recorded last reply.
"""

import heapq
import itertools
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from purser.activities.calls.attempts import Attempt, Attempts
from purser.activities.calls.growing_holds import GrowingHold
from purser.activities.calls.room import bounds_of
from purser.activities.models.partial_replies import PartialReply
from purser.activities.postgres.calls.calls import Call
from purser.activities.postgres.calls.outputs import Outputs
from purser.benchmarks.holding.sizing import LEAST_OUTPUT, Sizing
from purser.benchmarks.holding.transcripts import MODEL, OUTPUT_CAP, RecordedCall
from purser.budget.climbs import NO_STEPS, Climb, StepReached
from purser.budget.gate import NOTHING, GateAnswer
from purser.budget.holds import HoldAnswer, HoldRequest
from purser.budget.learned_holds import output_seen
from purser.budget.policies.policy import Policy
from purser.budget.postgres.connections.pools import Connection, Pool, connected
from purser.budget.postgres.ledger.ledger import Ledger
from purser.budget.postgres.ledger.settings import LedgerSettings
from purser.budget.pricing.call_prices import charge, quote
from purser.budget.pricing.price_book import PriceBook
from purser.budget.scopes import Kind, Path
from purser.budget.usage import Usage
from purser.context.tokens.calibration import Calibration
from purser.context.windows.plans import TextRef, View, WindowPlan
from purser.workflows.contract import AgentRef

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
FIRST_TOKEN_S = 1.0
PIECE_S = 0.25
"""A piece of about 16 tokens: 64 tokens a second."""
RETRY_S = 2.0
MOST_WAITS = 60
SETTINGS = LedgerSettings(defaults={kind: Policy() for kind in Kind}, backpressure=())
"""No limits but those that the benchmark sets."""
_NO_PLAN = WindowPlan(0, 0, View(""), (), TextRef(0, 0), View(""))


@dataclass
class Tally:
    """What happened to all calls under one sizing, in tokens where not said otherwise."""

    calls: int = 0
    """Calls that the conversations have."""
    served: int = 0
    """Calls that were admitted."""
    waited: int = 0
    """Calls that waited for open holds before they were admitted."""
    refused: int = 0
    """Calls that were refused, each with the end of its conversation."""
    cut: int = 0
    """Replies that ended before they were complete, because the hold was reduced or no top-up fitted."""
    topped_up: int = 0
    """Replies whose hold grew."""
    overrun: int = 0
    """Charges beyond what was held."""
    beyond: int = 0
    """Charges beyond the limits of the sessions."""
    charged: int = 0
    """All charges."""
    finished: int = 0
    """Conversations whose calls were all served and not cut."""
    conversations: int = 0
    ended: int = 0
    """Conversations whose calls were all served, and whose last reply was not cut."""
    eased: int = 0
    """Calls that took a step of a ladder."""
    last_answers: int = 0
    """Conversations that ended with a last answer after a refusal."""

    @property
    def answered(self) -> int:
        """Conversations that ended with an answer."""
        return self.ended + self.last_answers


@dataclass
class Simulation:
    """One sizing on the budgets of groups of conversations, one group after the other."""

    pool: Pool
    ledger: Ledger
    prices: PriceBook
    tenant: str
    sizing: Sizing
    tally: Tally = field(default_factory=Tally)

    async def group(self, session: str, conversations: Sequence[Sequence[RecordedCall]]) -> None:
        """Runs conversations at the same time on a session."""
        order = itertools.count()
        agents = [_Agent(self, session, number, calls).steps() for number, calls in enumerate(conversations)]
        due = [(0.0, next(order), agent) for agent in agents]
        while due:
            at, _, agent = heapq.heappop(due)
            self.ledger.now = BEGIN + timedelta(seconds=at)
            pause = await anext(agent, None)
            if pause is not None:
                heapq.heappush(due, (at + pause, next(order), agent))
        self.tally.conversations += len(conversations)
        self.tally.calls += sum(map(len, conversations))


@dataclass
class _Agent:
    """One conversation. Its steps yield the seconds after which it goes on."""

    of: Simulation
    session: str
    number: int
    calls: Sequence[RecordedCall]
    cut: bool = False

    async def steps(self) -> AsyncIterator[float]:
        """Makes its calls until one is refused."""
        tally, cut_last = self.of.tally, False
        for turn, recorded in enumerate(self.calls):
            call, answer = await self._first(turn, recorded)
            waits = 0
            while answer.retry_after_ms is not None:
                yield RETRY_S
                waits += 1
                answer = await self._ask(call, patient=waits < MOST_WAITS)
            if answer.hold_id is None:
                tally.refused += 1
                async for pause in self._conclude(turn, answer.gate):
                    yield pause
                return
            tally.served += 1
            tally.waited += waits > 0
            before = tally.cut
            async for pause in self._serve(call, answer.hold_id, call.cap_of(answer.amount), recorded):
                yield pause
            cut_last = tally.cut > before
        tally.finished += not self.cut
        tally.ended += not cut_last

    async def _first(
        self, turn: int, recorded: RecordedCall, last: GateAnswer | None = None
    ) -> tuple[Call, HoldAnswer]:
        """Asks with all steps of ladders that the ask reaches.

        Args:
            turn: number of the call.
            recorded: what it asks, and its reply.
            last: the refusal after which this is the last call; `None`: it is another one.
        """
        climb, prices = NO_STEPS, self.of.prices
        while True:
            call = await self._plan(turn, recorded, climb, last)
            try:
                async with connected(self.of.pool, None) as own, own.transaction():
                    answer = await self._ask(call, patient=True, connection=own)
                    if climb.lacks(answer.gate):
                        raise StepReached(answer.gate)
            except StepReached as further:
                names = {name for one in further.gate.ladder.values() for name in one.step.model}
                usage = Usage(input=call.prompt_tokens, output=call.ask.tokens - call.prompt_tokens)
                climb = climb.after(further.gate, usage, MODEL, prices, names)
                continue
            self.of.tally.eased += bool(call.ladder)
            return call, answer

    async def _conclude(self, turn: int, refusal: GateAnswer) -> AsyncIterator[float]:
        """Makes a last call, if a budget reserves a part for it."""
        if not any(one.view.reserve != NOTHING for one in refusal.scopes):
            return
        call, answer = await self._first(turn + 1, self.calls[-1], refusal)
        if answer.hold_id is not None:
            self.of.tally.last_answers += 1
            async for pause in self._serve(call, answer.hold_id, call.cap_of(answer.amount), self.calls[-1]):
                yield pause

    async def _plan(self, turn: int, recorded: RecordedCall, climb: Climb, last: GateAnswer | None) -> Call:
        tenant, sizing, prices = self.of.tenant, self.of.sizing, self.of.prices
        model = climb.model or MODEL
        cap = climb.output_cap(OUTPUT_CAP, LEAST_OUTPUT)
        output = cap
        if last is None:
            output = sizing.output(await Outputs(self.of.pool).seen(tenant, recorded.agent_id, model), cap)
        prompt = self._prompt(recorded, climb, model, last)
        quoted = quote(
            prices, model, Usage(input=prompt, output=output), Usage(input=prompt, output=min(output, LEAST_OUTPUT))
        )
        return Call(
            agent=AgentRef(tenant, self._task, recorded.agent_id),
            key=f"{self.session}/{self.number}/{turn}",
            turn=turn,
            model=model,
            plan=_NO_PLAN,
            output_cap=cap,
            ask=quoted.full,
            least=quoted.least,
            learned_output=output if output < cap else None,
            last=last is not None,
            ladder=climb.stored(OUTPUT_CAP, cap),
        )

    def _prompt(self, recorded: RecordedCall, climb: Climb, model: str, last: GateAnswer | None) -> int:
        """Tokens of the prompt in the window that steps of ladders and, of a last call, the reserve leave."""
        room = [int(climb.compression * (self.of.prices.context_window(model) or recorded.prompt_tokens))]
        if last is not None:
            views = [replace(one.view, last_of=1) for one in last.scopes if one.view.bounded]
            bounds = [bounds_of(self.of.prices, model, view, LEAST_OUTPUT, last=True) for view in views]
            room += [bound - LEAST_OUTPUT for found in bounds for bound in found]
        return min(recorded.prompt_tokens, max(recorded.required, min(room)))

    @property
    def _task(self) -> str:
        return f"{self.session}-{self.number}"

    async def _ask(self, call: Call, *, patient: bool, connection: Connection | None = None) -> HoldAnswer:
        path = Path.parse([f"tenant:{self.of.tenant}", f"session:{self.session}", f"task:{self._task}"])
        request = HoldRequest(
            call.key, path, call.ask, call.least, patient=patient, model=call.model,
            last_of=(0, 0, 1) if call.last else None,
        )  # fmt: skip
        return await self.of.ledger.hold(self.of.tenant, request, connection=connection)

    async def _serve(self, call: Call, hold_id: str, cap: int, recorded: RecordedCall) -> AsyncIterator[float]:
        """Receives the reply of an admitted call and settles it."""
        hold, tally = GrowingHold(self.of.ledger, self.of.prices, call, Calibration()), self.of.tally
        attempt = await Attempts(self.of.ledger, self.of.prices).start(
            self.of.tenant, call.model, hold_id, call.ask, cap, most=hold.most(cap)
        )
        partial, output = PartialReply(streamed=True), min(recorded.output, cap)
        yield FIRST_TOKEN_S
        for piece in recorded.pieces[: -(-len(recorded.pieces) * output // recorded.output)]:
            yield PIECE_S
            partial.add(piece, (), None)
            if self.of.sizing.grows and not await hold.covers(partial, attempt):
                partial.cut()
                output = partial.charge(call.prompt_tokens, MODEL).output
                break
        tally.topped_up += hold.added > 0
        if output < recorded.output:
            tally.cut += 1
            self.cut = True
        await self._settle(
            call, attempt, Usage(input=call.prompt_tokens, output=output), capped=output < recorded.output
        )

    async def _settle(self, call: Call, attempt: Attempt, usage: Usage, *, capped: bool) -> None:
        seen = output_seen(usage, call.output_cap, streamed=True, capped=capped)
        report = charge(self.of.prices, call.model, usage, 0)
        async with connected(self.of.pool, None) as own, own.transaction():
            settled = await self.of.ledger.settle(
                self.of.tenant, attempt.hold_id, attempt.number, report, connection=own
            )
            await Outputs(self.of.pool).add(self.of.tenant, call.agent.agent_id, call.model, seen, own)
        self.of.tally.overrun += settled.overrun.tokens
        self.of.tally.charged += usage.total
