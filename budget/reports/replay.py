"""Replay: what the gate would have answered to the calls of the ledger's history under other policies.

The rules are those of the gate: `resolve`, `window_bounds`, `gate_answer`. Calls are asked again with what they held.
A call that is refused, or that asks for an approval, holds nothing, and its charges do not count. One that waits for
open holds is made afterwards: only its charges count.
"""

from bisect import bisect_left, insort
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cached_property
from typing import Any

from purser.budget.gate import Amount, GateAnswer, ScopeView, Verdict, gate_answer
from purser.budget.policies.policy import Policy, PolicyPatch, resolve
from purser.budget.previews import as_view
from purser.budget.reports.views import BudgetView
from purser.budget.scopes import Kind, Scope
from purser.budget.windows import rolling_length, window_bounds

_NOTHING = Amount()
Key = tuple[Scope, datetime | timedelta | None]
"""A balance: a scope, and the start of its calendar window or the length of its rolling one; `None` for a lifetime."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """One change of the ledger: of a hold on all its scopes, or the grant to one."""

    kind: str
    """Kind of its entries."""
    at: datetime
    hold_id: int | None
    path: tuple[Scope, ...]
    """For a grant its scope."""
    labels: tuple[Scope, ...]
    task: str
    spent: Amount
    held: Amount
    granted: Amount
    asked_at: datetime
    """When the call asked for its hold: its windows are those of that time."""
    priced: bool = True
    """For a hold: whether the price of the call was known."""


@dataclass
class Proposed:
    """The policies of a replay. Those of scopes are known once `learn` was called for them."""

    policies: Mapping[str, PolicyPatch]
    """Policies of scopes and templates, by name."""
    defaults: Mapping[Kind, Policy]
    templates: dict[Scope, tuple[PolicyPatch | None, Mapping[str, str]]] = field(default_factory=dict)
    """The merged fields of the templates that match each scope, and the pattern of each field."""
    requests: dict[tuple[Scope, str], PolicyPatch] = field(default_factory=dict)
    """What a task requested for a scope."""
    _resolved: dict[tuple[Scope, str], Policy] = field(default_factory=dict)

    @cached_property
    def periods(self) -> list[str]:
        """The periods of all further limits that policies and templates name, ordered."""
        return sorted({name.partition("@")[2] for name in self.policies} - {""})

    def policy(self, scope: Scope, task: str) -> Policy:
        """The policy that the gate applies to calls of a task on a scope."""
        key = (scope, task if (scope, task) in self.requests else "")
        if key not in self._resolved:
            template, patterns = self.templates[scope]
            stored = self.policies.get(str(scope))
            default = self.defaults[scope.kind]
            if scope.period:
                default = replace(default, limit_tokens=None, limit_nano_usd=None, window=scope.period)
            found = resolve(stored, self.requests.get(key), default, {}, template=template, patterns=patterns)
            self._resolved[key] = found.policy
        return self._resolved[key]

    def named(self, one: Recorded) -> list[Scope]:
        """Path and labels of a call, and the further limits that they may have: `learn` needs to know them all."""
        bases = [*one.path, *one.labels]
        return [*bases, *(further for base in bases for further in self._further(base))]

    def scopes_of(self, one: Recorded) -> list[Scope]:
        """The scopes on which a call draws, as in `ledger_expand`: its path, and those labels and further limits that
        have a policy."""
        optional = self.named(one)[len(one.path) :]
        limited = (scope for scope in optional if str(scope) in self.policies or self.templates[scope][0] is not None)
        return [*one.path, *limited]

    def _further(self, base: Scope) -> list[Scope]:
        if not self.periods or base.period:
            return []
        return [Scope(base.kind, f"{base.id}@{period}") for period in self.periods]


@dataclass
class Line:
    """What the replayed policies did on one scope, or on all."""

    refused: int = 0
    asked: int = 0
    waited: int = 0
    delayed: int = 0
    delay_ms: int = 0
    """Total of the delays."""
    saved: Amount = _NOTHING
    """What the calls that were refused or asked had been charged."""
    stopped: set[str] = field(default_factory=set)
    """Tasks with a call that was refused or asked."""

    def to_json(self) -> dict[str, Any]:
        """The figures in the response of `POST /v1/policies/replay`."""
        return {
            "refused": self.refused,
            "asked": self.asked,
            "waited": self.waited,
            "tasks_stopped": len(self.stopped),
            "delayed": self.delayed,
            "delay_ms": self.delay_ms,
            "saved_tokens": self.saved.tokens,
            "saved_nano_usd": self.saved.nano_usd,
        }


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


class Replay:
    """Applies recorded changes in their order; nothing but balances, open holds and stopped calls stays in memory."""

    def __init__(self, proposed: Proposed) -> None:
        self.proposed = proposed
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
        """The scopes that held up calls, those that save most first."""
        return sorted(self.lines.items(), key=lambda one: (-one[1].saved.tokens, -one[1].refused, one[0]))[:most]

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
        held = _floor(call.held, one.held)
        if one.kind == "top_up":
            if self._judge(call.keys, one, own=call.held).verdict.admits:
                self._set_limits(call.keys, one.task)
            else:
                held = call.held
        self._move(call.keys, one.at, one.spent, held - call.held)
        call.held = held
        if one.kind != "top_up" and held == _NOTHING:
            self._open.pop(one.hold_id, None)
        return None

    def _ask(self, one: Recorded, hold_id: int) -> GateAnswer:
        self.calls += 1
        for key in (keys := self._keys(one, one.at)):
            self._roll_over(key, one.at)
        answer = self._judge(keys, one)
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
        held = one.held if answer.verdict.admits else _NOTHING
        if answer.verdict.admits and answer.delay_ms and answer.slowed_by:
            for line in (self.total, self.lines[answer.slowed_by]):
                line.delayed += 1
                line.delay_ms += answer.delay_ms
        self._set_limits(keys, one.task)
        self._move(keys, one.at, held=held)
        self._open[hold_id] = _Open(keys, held)
        return answer

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


def _limits(policy: Policy) -> tuple[int | None, int | None]:
    return policy.limit_tokens, policy.limit_nano_usd


def _carried(today: int | None, own: int | None, used: int, share: Decimal | None) -> int:
    """What rolls over of a limit: the lower of today's and the window's own, less what it used, up to a share."""
    if today is None or own is None or share is None:
        return 0
    over, under = share.as_integer_ratio()
    return max(0, min(today * over // under, min(today, own) - used))
