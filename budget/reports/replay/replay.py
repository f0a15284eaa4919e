"""Replay: what the gate would have answered to the calls of the ledger's history under other policies.

The rules are those of the gate and of the calls: `resolve`, `gate_answer`, `Climb`. Calls are asked again with what
they held, or less on a step of a ladder. A call that is refused, or that asks for an approval, holds nothing, and its
charges do not count. One that waits for open holds is made afterwards: only its charges count.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from purser.budget.climbs import NO_STEPS
from purser.budget.gate import NOTHING, Amount, GateAnswer, Verdict, gate_answer
from purser.budget.pricing.price_book import PriceBook
from purser.budget.reports.replay.balances import Balances, Copies, Key
from purser.budget.reports.replay.calls import Proposed, Recorded
from purser.budget.reports.replay.easing import Eased, eased
from purser.budget.reports.replay.lines import Line
from purser.budget.scopes import Kind, Scope
from purser.budget.usage import Usage


@dataclass
class _Open:
    """A call that was admitted or waits, with what it holds in the replay."""

    keys: list[Key]
    held: Amount
    recorded: Recorded | None = None
    eased: Eased | None = None
    """Set if it took steps of ladders."""
    charged: int = 0
    """Tokens that it was charged so far, as recorded."""

    def spent(self, one: Amount) -> Amount:
        """A recorded charge as it is in the replay: its share of what all attempts together would have been charged."""
        if self.eased is None or self.recorded is None or self.recorded.measured is None:
            return one
        before, self.charged = self.charged, self.charged + one.tokens
        whole, wanted = self.recorded.measured.usage.total, self.eased.charged
        return Amount(
            wanted.tokens * self.charged // whole - wanted.tokens * before // whole,
            wanted.nano_usd * self.charged // whole - wanted.nano_usd * before // whole,
        )


class Replay:
    """Applies recorded changes in their order. Balances, open holds, stopped and eased calls stay in memory."""

    def __init__(self, proposed: Proposed, prices: PriceBook, least_output: int) -> None:
        """Args:
        proposed: the policies.
        prices: prices of models.
        least_output: output tokens below which no step of a ladder caps a call.
        """
        self.proposed = proposed
        self.balances = Balances(proposed)
        self._prices = prices
        self._least_output = least_output
        self.calls = 0
        self.total = Line()
        self.lines: defaultdict[Scope, Line] = defaultdict(Line)
        self._open: dict[int, _Open] = {}
        self._stopped: dict[int, Scope] = {}

    def worst(self, most: int) -> list[tuple[Scope, Line]]:
        """The scopes that held up calls or had them take steps, those that save most first."""
        return sorted(self.lines.items(), key=lambda one: (-one[1].less.tokens, -one[1].refused, one[0]))[:most]

    @property
    def reaches_steps(self) -> bool:
        """Whether calls reach steps of ladders."""
        return any(line.steps for line in self.lines.values())

    def apply(self, one: Recorded) -> GateAnswer | None:
        """Applies the next change; returns the gate's answer if it is a call that asks for its hold."""
        if one.hold_id is None:
            self.balances.move([self.balances.key(one.path[0], "", one.at)], one.at, granted=one.granted)
            return None
        if one.kind == "hold":
            return self._ask(one, one.hold_id)
        if (scope := self._stopped.get(one.hold_id)) is not None:
            self.total.saved += one.spent
            self.lines[scope].saved += one.spent
            return None
        hold_id = one.hold_id
        call = self._open.pop(hold_id, None) or _Open(self._keys(one, one.asked_at), one.had)
        has_ended = one.had + one.held == NOTHING
        if one.kind == "top_up" and call.eased is not None:
            # At most what it would take to ask for the whole call again.
            one = replace(one, held=_smaller(one.held, call.eased.ask), priced=call.eased.priced)
        # An eased call may hold money where the recorded one held none.
        held = NOTHING if has_ended else _floor(call.held, one.held)
        if one.kind == "top_up":
            if self._judge(call.keys, one, own=call.held).verdict.admits:
                self.balances.set_limits(call.keys, one.task)
            else:
                held = call.held
        spent = call.spent(one.spent)
        self._ease(call, one.spent - spent)
        self.balances.move(call.keys, one.at, spent, held - call.held)
        call.held = held
        # What exceeds its hold, or is reported late, comes after a call has ended: that of an eased one shrinks, too.
        if not has_ended or call.eased is not None:
            self._open[hold_id] = call
        return None

    def _ask(self, one: Recorded, hold_id: int) -> GateAnswer:
        self.calls += 1
        keys, answer, call = self._answered(one)
        self._count_steps(one, answer, call)
        self._count_verdict(one, answer)
        if answer.verdict in (Verdict.ASK, Verdict.REFUSE):
            self._stopped[hold_id] = answer.decisive.scope
            return answer
        asked = one.held if call is None else call.ask
        held = asked if answer.verdict.admits else NOTHING
        self.balances.set_limits(keys, one.task)
        self.balances.move(keys, one.at, held=held)
        self._open[hold_id] = _Open(keys, held, one, call)
        return answer

    def _answered(self, one: Recorded) -> tuple[list[Key], GateAnswer, Eased | None]:
        """The gate's answer to a call on all steps that its ask reaches, as far as the ledger tells what they change.

        As in a transaction that is undone, an ask that reaches a further step leaves nothing behind, nor does one that
        is refused for want of a price.
        """
        asked, climb, call = one, NO_STEPS, None
        while True:
            keys = self._keys(asked, one.at)
            before = self._copies(keys, asked)
            for key in keys:
                self.balances.roll_over(key, one.at)
            answer = self._judge(keys, asked)
            if one.measured is None or asked.held.tokens <= one.measured.prompt or not climb.lacks(answer):
                if answer.unpriced:
                    self.balances.undo(before)
                return keys, answer, call if call and call.steps else None
            self.balances.undo(before)
            usage = Usage(input=one.measured.prompt, output=asked.held.tokens - one.measured.prompt)
            climb = climb.after(answer, usage, one.measured.model, self._prices, self.proposed.models)
            call = eased(one.held, one.priced, one.measured, climb, self._prices, self._least_output)
            asked = one.on(call)

    def _count_verdict(self, one: Recorded, answer: GateAnswer) -> None:
        if answer.verdict.admits:
            if answer.delay_ms and answer.slowed_by:
                for line in (self.total, self.lines[answer.slowed_by]):
                    line.delayed += 1
                    line.delay_ms += answer.delay_ms
            return
        for line in (self.total, self.lines[answer.decisive.scope]):
            match answer.verdict:
                case Verdict.WAIT:
                    line.waited += 1
                case Verdict.ASK:
                    line.asked += 1
                case Verdict.REFUSE:
                    line.refused += 1
            if answer.verdict is not Verdict.WAIT and one.task:
                line.stopped.add(one.task)

    def _copies(self, keys: Sequence[Key], one: Recorded) -> Copies:
        """The balances as they are, if an ask may have to be undone on them."""
        may_be_undone = not one.priced or any(self.proposed.policy(scope, one.task).ladder for scope, _ in keys)
        return self.balances.copies(keys if may_be_undone else ())

    def _count_steps(self, one: Recorded, answer: GateAnswer, call: Eased | None) -> None:
        if one.measured is None and not any(label.kind is Kind.TOOL for label in one.labels):
            for scope, step in answer.ladder.items():
                self.lines[scope].steps[step.number, step.step.ratio].unknown += 1
        if call is None:
            return
        self.total.eased += 1
        for scope, step in call.steps:
            self.lines[scope].eased += 1
            self.lines[scope].steps[step.number, step.step.ratio].calls += 1

    def _ease(self, call: _Open, less: Amount) -> None:
        """Counts what an eased call is charged less; money only if its price was known."""
        if call.eased is None or call.recorded is None:
            return
        less = less if call.recorded.priced else Amount(less.tokens)
        self.total.eased_by += less
        for scope, step in call.eased.steps:
            self.lines[scope].eased_by += less
            self.lines[scope].steps[step.number, step.step.ratio].saved += less

    def _keys(self, one: Recorded, at: datetime) -> list[Key]:
        return [self.balances.key(scope, one.task, at) for scope in self.proposed.scopes_of(one)]

    def _judge(self, keys: Sequence[Key], one: Recorded, own: Amount = NOTHING) -> GateAnswer:
        """The gate's answer to what a change holds; `own`, which the call holds itself, would not end by waiting."""
        views = [self.balances.view(key, one.task, one.at, own) for key in keys]
        return gate_answer(views, one.held, priced=one.priced)


def _floor(held: Amount, moved: Amount) -> Amount:
    """What is held after a move, never below 0: a call may hold less in the replay than it did."""
    after = held + moved
    return Amount(max(0, after.tokens), max(0, after.nano_usd))


def _smaller(one: Amount, other: Amount) -> Amount:
    return Amount(min(one.tokens, other.tokens), min(one.nano_usd, other.nano_usd))
