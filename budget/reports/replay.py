"""Replay: what the gate would have answered to the calls of the ledger's history under other policies.

The rules are those of the gate and of the calls: `resolve`, `window_bounds`, `gate_answer`, `Climb`. Calls are asked
again with what they held, or less on a step of a ladder. A call that is refused, or that asks for an approval, holds
nothing, and its charges do not count. One that waits for open holds is made afterwards: only its charges count.
"""

from bisect import bisect_left, insort
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal

from purser.budget.climbs import NO_STEPS
from purser.budget.gate import Amount, GateAnswer, ScopeView, Verdict, gate_answer
from purser.budget.policies.policy import Policy
from purser.budget.previews import as_view
from purser.budget.pricing.price_book import PriceBook
from purser.budget.reports.easing import Eased, eased
from purser.budget.reports.replay_lines import Line
from purser.budget.reports.replayed_calls import Proposed, Recorded
from purser.budget.reports.views import BudgetView
from purser.budget.scopes import Kind, Scope
from purser.budget.usage import Usage
from purser.budget.windows import rolling_length, window_bounds

_NOTHING = Amount()
Key = tuple[Scope, datetime | timedelta | None]
"""A balance: a scope, and the start of its calendar window or the length of its rolling one; `None` for a lifetime."""


@dataclass
class _Balance:
    """What a scope has spent, holds and was granted in one window."""

    length: timedelta | None
    """Of a rolling window."""
    rolls_at: datetime | None
    """When charges may fall out of a rolling window next."""
    spent: Amount = _NOTHING
    held: Amount = _NOTHING
    granted: Amount = _NOTHING
    limits: tuple[int | None, int | None] = (None, None)
    """In tokens and nano-dollars, as the last call that was admitted found them."""
    rolled_over: Amount | None = None
    """What of `granted` is left from the window before; `None` until the first ask."""
    changes: deque[tuple[datetime, Amount]] = field(default_factory=deque)
    """Time and charge of the changes that are in a rolling window."""

    def as_it_is(self) -> "_Balance":
        """A copy, to undo what follows."""
        found = copy(self)
        found.changes = self.changes.copy()
        return found

    def move(self, at: datetime, spent: Amount, held: Amount, granted: Amount) -> None:
        self.spent, self.held, self.granted = self.spent + spent, self.held + held, self.granted + granted
        if self.length is not None:
            self.changes.append((at, spent))

    def roll_off(self, now: datetime) -> None:
        """Lets charges fall out at the same times as `ledger_roll_off` does."""
        if self.length is None or self.rolls_at is None or self.rolls_at > now:
            return
        out = _NOTHING
        while self.changes and self.changes[0][0] <= now - self.length:
            out += self.changes.popleft()[1]
        oldest = self.changes[0][0] if self.changes else now
        self.rolls_at = max(oldest + self.length, now + self.length / 60)
        if out != _NOTHING:
            self.move(now, _NOTHING - out, _NOTHING, _NOTHING)
            self.changes[-1] = (now, _NOTHING)


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
    freed: int = 0
    """Tokens of its hold that ended so far, as recorded."""

    def left(self, one: Recorded) -> Amount:
        """What it holds after a change. An eased call may hold money where the recorded one held none."""
        if self.eased is None or self.recorded is None:
            return _floor(self.held, one.held)
        self.freed -= one.held.tokens
        return _NOTHING if self.freed >= self.recorded.held.tokens else _floor(self.held, one.held)

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
        self._prices = prices
        self._least_output = least_output
        self.calls = 0
        self.total = Line()
        self.lines: defaultdict[Scope, Line] = defaultdict(Line)
        self._balances: dict[Key, _Balance] = {}
        self._starts: defaultdict[Scope, list[datetime]] = defaultdict(list)
        """Of the calendar windows in which a scope has a balance, ascending."""
        self._named: set[Scope] = set()
        self._open: dict[int, _Open] = {}
        self._stopped: dict[int, Scope] = {}

    def worst(self, most: int) -> list[tuple[Scope, Line]]:
        """The scopes that held up calls or had them take steps, those that save most first."""
        return sorted(
            self.lines.items(), key=lambda one: (-(one[1].saved + one[1].eased_by).tokens, -one[1].refused, one[0])
        )[:most]

    @property
    def reaches_steps(self) -> bool:
        """Whether calls reach steps of ladders."""
        return any(line.steps for line in self.lines.values())

    def key(self, scope: Scope, task: str, at: datetime) -> Key:
        """The balance that a call of a task at a time counts on."""
        policy = self.proposed.policy(scope, task)
        return scope, rolling_length(policy.window) or window_bounds(policy.window, policy.timezone, at)[0]

    def knows(self, key: Key) -> bool:
        """Whether a balance has been opened."""
        return key in self._balances

    def is_first(self, scope: Scope) -> bool:
        """Whether a scope from which a part rolls over is named for the first time: only once for each."""
        if scope in self._named or self.proposed.policy(scope, "").rollover is None:
            return False
        self._named.add(scope)
        return True

    def end(self, key: Key) -> datetime | None:
        """The end (exclusive) of the calendar window of a balance; `None` for others."""
        policy = self.proposed.policy(key[0], "")
        return window_bounds(policy.window, policy.timezone, key[1])[1] if isinstance(key[1], datetime) else None

    def begin(self, key: Key, at: datetime, spent: Amount, held: Amount, granted: Amount) -> None:
        """Adds what a balance had moved by a time before the replay, as if today's limits had applied then."""
        balance = self._balance(key, at)
        balance.move(at, spent, held, granted)
        balance.limits = _limits(self.proposed.policy(key[0], ""))

    def apply(self, one: Recorded) -> GateAnswer | None:
        """Applies the next change; returns the gate's answer if it is a call that asks for its hold."""
        if one.hold_id is None:
            self._move([self.key(one.path[0], "", one.at)], one.at, granted=one.granted)
            return None
        if one.kind == "hold":
            return self._ask(one, one.hold_id)
        if (scope := self._stopped.get(one.hold_id)) is not None:
            self.total.saved += one.spent
            self.lines[scope].saved += one.spent
            return None
        call = self._open.get(one.hold_id) or _Open(self._keys(one, one.asked_at), _floor(_NOTHING, one.held))
        hold_id = one.hold_id
        if one.kind == "top_up" and call.eased is not None:
            # At most what it would take to ask for the whole call again.
            one = replace(one, held=_smaller(one.held, call.eased.ask), priced=call.eased.priced)
        held = call.left(one)
        if one.kind == "top_up":
            if self._judge(call.keys, one, own=call.held).verdict.admits:
                self._set_limits(call.keys, one.task)
            else:
                held = call.held
        spent = call.spent(one.spent)
        self._ease(call, one.spent - spent)
        self._move(call.keys, one.at, spent, held - call.held)
        call.held = held
        # What exceeds its hold, or is reported late, comes after a call has ended: that of an eased one shrinks, too.
        if one.kind != "top_up" and held == _NOTHING and call.eased is None:
            self._open.pop(hold_id, None)
        return None

    def _ask(self, one: Recorded, hold_id: int) -> GateAnswer:
        self.calls += 1
        keys, answer, call = self._answered(one)
        self._count_steps(one, answer, call)
        decisive = answer.decisive.scope
        lines = (self.total, self.lines[decisive]) if not answer.verdict.admits else ()
        for line in lines:
            match answer.verdict:
                case Verdict.WAIT:
                    line.waited += 1
                case Verdict.ASK:
                    line.asked += 1
                case Verdict.REFUSE:
                    line.refused += 1
            if answer.verdict is not Verdict.WAIT and one.task:
                line.stopped.add(one.task)
        if answer.verdict in (Verdict.ASK, Verdict.REFUSE):
            self._stopped[hold_id] = decisive
            return answer
        asked = one.held if call is None else call.ask
        held = asked if answer.verdict.admits else _NOTHING
        if answer.verdict.admits and answer.delay_ms and answer.slowed_by:
            for line in (self.total, self.lines[answer.slowed_by]):
                line.delayed += 1
                line.delay_ms += answer.delay_ms
        self._set_limits(keys, one.task)
        self._move(keys, one.at, held=held)
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
            before = self._as_they_are(keys, asked)
            for key in keys:
                self._roll_over(key, one.at)
            answer = self._judge(keys, asked)
            if one.measured is None or asked.held.tokens <= one.measured.prompt or not climb.lacks(answer):
                if answer.unpriced:
                    self._undo(before)
                return keys, answer, call if call and call.steps else None
            self._undo(before)
            usage = Usage(input=one.measured.prompt, output=asked.held.tokens - one.measured.prompt)
            climb = climb.after(answer, usage, one.measured.model, self._prices, self.proposed.models)
            call = eased(one.held, one.priced, one.measured, climb, self._prices, self._least_output)
            asked = one.on(call)

    def _as_they_are(self, keys: Sequence[Key], one: Recorded) -> dict[Key, _Balance | None]:
        """Copies of balances, if an ask may have to be undone on them; `None` for those that do not exist yet."""
        if one.priced and not any(self.proposed.policy(scope, one.task).ladder for scope, _ in keys):
            return {}
        return {key: balance and balance.as_it_is() for key in keys for balance in [self._balances.get(key)]}

    def _undo(self, before: Mapping[Key, _Balance | None]) -> None:
        for key, balance in before.items():
            if balance is not None:
                self._balances[key] = balance
            elif self._balances.pop(key, None) is not None and isinstance(key[1], datetime):
                self._starts[key[0]].remove(key[1])

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
        return [self.key(scope, one.task, at) for scope in self.proposed.scopes_of(one)]

    def _judge(self, keys: Sequence[Key], one: Recorded, own: Amount = _NOTHING) -> GateAnswer:
        """The gate's answer to what a change holds; `own`, which the call holds itself, would not end by waiting."""
        views = [self._view(key, one, own) for key in keys]
        return gate_answer(views, one.held, priced=one.priced)

    def _view(self, key: Key, one: Recorded, own: Amount) -> ScopeView:
        balance, policy = self._balance(key, one.at), self.proposed.policy(key[0], one.task)
        balance.roll_off(one.at)
        start = None if isinstance(key[1], timedelta) else key[1]
        budget = BudgetView(
            key[0], policy, {}, start, None, balance.spent + own, balance.held - own, balance.granted, _NOTHING
        )
        return as_view(budget)

    def _balance(self, key: Key, at: datetime) -> _Balance:
        if key not in self._balances:
            length = key[1] if isinstance(key[1], timedelta) else None
            self._balances[key] = _Balance(length, None if length is None else at + length)
            if isinstance(key[1], datetime):
                insort(self._starts[key[0]], key[1])
        return self._balances[key]

    def _roll_over(self, key: Key, at: datetime) -> None:
        """Grants what rolls over into a calendar window, at its first ask, as `ledger_roll_over` does."""
        balance, policy = self._balance(key, at), self.proposed.policy(key[0], "")
        if policy.rollover is None or balance.rolled_over is not None or not isinstance(key[1], datetime):
            return
        balance.rolled_over = self._left_over(key[0], key[1], policy)
        balance.granted += balance.rolled_over

    def _left_over(self, scope: Scope, start: datetime, policy: Policy) -> Amount:
        """What is left for the window that begins at `start`, as `ledger_left_over` computes it."""
        before = window_bounds(policy.window, policy.timezone, start - timedelta(microseconds=1))[0]
        earlier = bisect_left(self._starts[scope], start)
        if before is None or not earlier or (last := self._starts[scope][earlier - 1]) > before:
            return _NOTHING
        balance = self._balances[scope, last]
        # A window without a balance was not used: then the whole limit is left.
        used = _NOTHING
        if last == before:
            used = balance.spent + balance.held - (balance.rolled_over or _NOTHING)
        today, own = _limits(policy), balance.limits
        return Amount(
            _carried(today[0], own[0], used.tokens, policy.rollover),
            _carried(today[1], own[1], used.nano_usd, policy.rollover),
        )

    def _set_limits(self, keys: Sequence[Key], task: str) -> None:
        for key in keys:
            self._balances[key].limits = _limits(self.proposed.policy(key[0], task))

    def _move(
        self, keys: Sequence[Key], at: datetime, spent: Amount = _NOTHING, held: Amount = _NOTHING,
        granted: Amount = _NOTHING,
    ) -> None:  # fmt: skip
        for key in keys:
            self._balance(key, at).move(at, spent, held, granted)


def _floor(held: Amount, moved: Amount) -> Amount:
    """What is held after a move, never below 0: a call may hold less in the replay than it did."""
    after = held + moved
    return Amount(max(0, after.tokens), max(0, after.nano_usd))


def _smaller(one: Amount, other: Amount) -> Amount:
    return Amount(min(one.tokens, other.tokens), min(one.nano_usd, other.nano_usd))


def _limits(policy: Policy) -> tuple[int | None, int | None]:
    return policy.limit_tokens, policy.limit_nano_usd


def _carried(today: int | None, own: int | None, used: int, share: Decimal | None) -> int:
    """What rolls over of a limit: the lower of today's and the window's own, less what it used, up to a share."""
    if today is None or own is None or share is None:
        return 0
    over, under = share.as_integer_ratio()
    return max(0, min(today * over // under, min(today, own) - used))
