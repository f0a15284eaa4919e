"""Balances of a replay: what scopes have spent, hold and were granted by window, kept in memory.

The rules are those of the ledger: `window_bounds`, and what rolls off and rolls over.
"""

from bisect import bisect_left, insort
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal

from purser.budget.gate import NOTHING, Amount, ScopeView
from purser.budget.policies.policy import Policy
from purser.budget.previews import as_view
from purser.budget.reports.replay.calls import Proposed
from purser.budget.reports.views import BudgetView
from purser.budget.scopes import Scope
from purser.budget.windows import rolling_length, window_bounds

Key = tuple[Scope, datetime | timedelta | None]
"""A balance: a scope, and the start of its calendar window or the length of its rolling one; `None` for a lifetime."""


@dataclass
class _Balance:
    """What a scope has spent, holds and was granted in one window."""

    length: timedelta | None
    """Of a rolling window."""
    rolls_at: datetime | None
    """When charges may fall out of a rolling window next."""
    spent: Amount = NOTHING
    held: Amount = NOTHING
    granted: Amount = NOTHING
    limits: tuple[int | None, int | None] = (None, None)
    """In tokens and nano-dollars, as the last call that was admitted found them."""
    rolled_over: Amount | None = None
    """What of `granted` is left from the window before; `None` until the first ask."""
    carried: Amount = NOTHING
    """What had rolled over into it before the replay, as recorded: it counts for what is left for the next window."""
    changes: deque[tuple[datetime, Amount]] = field(default_factory=deque)
    """Time and charge of the changes that are in a rolling window."""

    @property
    def is_used(self) -> bool:
        """Whether anything was posted to it: a refused ask opens a balance, too."""
        return (self.limits, self.spent, self.held, self.granted) != ((None, None), NOTHING, NOTHING, NOTHING)

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
        out = NOTHING
        while self.changes and self.changes[0][0] <= now - self.length:
            out += self.changes.popleft()[1]
        oldest = self.changes[0][0] if self.changes else now
        self.rolls_at = max(oldest + self.length, now + self.length / 60)
        if out != NOTHING:
            self.move(now, NOTHING - out, NOTHING, NOTHING)
            self.changes[-1] = (now, NOTHING)


Copies = Mapping[Key, _Balance | None]
"""Balances at one time; `None` for those that did not exist."""


class Balances:
    """The balances that calls have named so far."""

    def __init__(self, proposed: Proposed) -> None:
        self._proposed = proposed
        self._balances: dict[Key, _Balance] = {}
        self._starts: defaultdict[Scope, list[datetime]] = defaultdict(list)
        """Of the calendar windows in which a scope has a balance, ascending."""
        self._named: set[Scope] = set()

    def key(self, scope: Scope, task: str, at: datetime) -> Key:
        """The balance that a call of a task at a time counts on."""
        policy = self._proposed.policy(scope, task)
        return scope, rolling_length(policy.window) or window_bounds(policy.window, policy.timezone, at)[0]

    def knows(self, key: Key) -> bool:
        """Whether a balance has been opened."""
        return key in self._balances

    def is_first(self, scope: Scope) -> bool:
        """Whether a scope from which a part rolls over is named for the first time: only once for each."""
        if scope in self._named or self._proposed.policy(scope, "").rollover is None:
            return False
        self._named.add(scope)
        return True

    def end(self, key: Key) -> datetime | None:
        """The end (exclusive) of the calendar window of a balance; `None` for others."""
        policy = self._proposed.policy(key[0], "")
        return window_bounds(policy.window, policy.timezone, key[1])[1] if isinstance(key[1], datetime) else None

    def begin(self, key: Key, at: datetime, spent: Amount, held: Amount, granted: Amount, carried: Amount) -> None:
        """Adds what a balance had moved by a time before the replay, as if today's limits had applied then."""
        balance = self._balance(key, at)
        balance.move(at, spent, held, granted)
        balance.carried = carried
        balance.limits = _limits(self._proposed.policy(key[0], ""))

    def copies(self, keys: Sequence[Key]) -> Copies:
        """The balances as they are, for `undo`."""
        return {key: balance and balance.as_it_is() for key in keys for balance in [self._balances.get(key)]}

    def undo(self, before: Copies) -> None:
        """Takes back what happened to balances since `before`, and removes those that did not exist."""
        for key, balance in before.items():
            if balance is not None:
                self._balances[key] = balance
            elif self._balances.pop(key, None) is not None and isinstance(key[1], datetime):
                self._starts[key[0]].remove(key[1])

    def view(self, key: Key, task: str, at: datetime, own: Amount) -> ScopeView:
        """What the gate sees of a balance; `own`, which the call holds itself, counts as spent."""
        balance, policy = self._balance(key, at), self._proposed.policy(key[0], task)
        balance.roll_off(at)
        start = None if isinstance(key[1], timedelta) else key[1]
        budget = BudgetView(
            key[0], policy, {}, start, None, balance.spent + own, balance.held - own, self._granted(key), NOTHING
        )
        return as_view(budget)

    def roll_over(self, key: Key, at: datetime) -> None:
        """Grants what rolls over into a calendar window, at its first ask, as `ledger_roll_over` does."""
        balance, policy = self._balance(key, at), self._proposed.policy(key[0], "")
        if policy.rollover is None or balance.rolled_over is not None or not isinstance(key[1], datetime):
            return
        balance.rolled_over = self._left_over(key[0], key[1], policy)
        balance.granted += balance.rolled_over

    def set_limits(self, keys: Sequence[Key], task: str) -> None:
        """Notes the limits that a call found when it was admitted."""
        for key in keys:
            self._balances[key].limits = _limits(self._proposed.policy(key[0], task))

    def move(
        self, keys: Sequence[Key], at: datetime, spent: Amount = NOTHING, held: Amount = NOTHING,
        granted: Amount = NOTHING,
    ) -> None:  # fmt: skip
        """Adds to all balances of a call."""
        for key in keys:
            self._balance(key, at).move(at, spent, held, granted)

    def _balance(self, key: Key, at: datetime) -> _Balance:
        if key not in self._balances:
            length = key[1] if isinstance(key[1], timedelta) else None
            self._balances[key] = _Balance(length, None if length is None else at + length)
            if isinstance(key[1], datetime):
                insort(self._starts[key[0]], key[1])
        return self._balances[key]

    def _left_over(self, scope: Scope, start: datetime, policy: Policy) -> Amount:
        """What is left for the window that begins at `start`, as `ledger_left_over` computes it."""
        before = window_bounds(policy.window, policy.timezone, start - timedelta(microseconds=1))[0]
        starts = self._starts[scope]
        used_before = (
            one for one in reversed(starts[: bisect_left(starts, start)]) if self._balances[scope, one].is_used
        )
        last = next(used_before, None)
        if before is None or last is None or last > before:
            return NOTHING
        balance = self._balances[scope, last]
        # A window without a balance was not used: then the whole limit is left.
        used = NOTHING
        if last == before:
            carried = balance.carried if balance.rolled_over is None else balance.rolled_over
            used = balance.spent + balance.held - carried
        today, own = _limits(policy), self._own_limits(scope, balance, policy)
        return Amount(
            _carried(today[0], own[0], used.tokens, policy.rollover),
            _carried(today[1], own[1], used.nano_usd, policy.rollover),
        )

    def _own_limits(self, scope: Scope, balance: _Balance, policy: Policy) -> tuple[int | None, int | None]:
        """The limits of a window, or today's where they are not known."""
        admitted_none = (balance.limits, balance.spent, balance.held) == ((None, None), NOTHING, NOTHING)
        return _limits(policy) if admitted_none or self._proposed.is_requested(scope) else balance.limits

    def _granted(self, key: Key) -> Amount:
        """What a window was granted, without what has rolled over into the next one."""
        granted, end = self._balances[key].granted, self.end(key)
        following = None if end is None else self._balances.get((key[0], end))
        return granted if following is None else granted - (following.rolled_over or NOTHING)


def _limits(policy: Policy) -> tuple[int | None, int | None]:
    return policy.limit_tokens, policy.limit_nano_usd


def _carried(today: int | None, own: int | None, used: int, share: Decimal | None) -> int:
    """What rolls over of a limit: the lower of today's and the window's own, less what it used, up to a share."""
    if today is None or own is None or share is None:
        return 0
    over, under = share.as_integer_ratio()
    return max(0, min(today * over // under, min(today, own) - used))
