"""What a grant would do, before anybody gives it: the gate's own rules, asked with the grant already there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from purser.budget.approvals import ApprovalRequest
from purser.budget.decisions import Amount, Decision, ScopeView, Verdict, decide
from purser.budget.policies import BackpressureStep, Policy
from purser.budget.reports.views import BudgetView
from purser.budget.scopes import Scope


@dataclass(frozen=True, slots=True)
class PendingAsk:
    """A call that waits, with the budgets of its path as they are now, outermost first."""

    ask: Amount
    least: Amount
    """The smallest hold that it accepts."""
    views: tuple[ScopeView, ...]


@dataclass(frozen=True, slots=True)
class Effect:
    """What happens to the calls that wait once a grant is there."""

    grant: Amount
    ratio: float | None
    """Share of the granted scope that is used once all that fit are admitted; `None` if nothing fits."""
    delay_ms: int
    """Longest backpressure delay among the calls that are admitted."""
    slowed_by: Scope | None
    """The scope that causes this delay."""
    admitted: int
    """Calls that go on."""
    asking: int
    """Calls that ask a person again."""
    waiting: int
    """Calls that wait for open holds of others."""
    refused: int


def as_view(budget: BudgetView) -> ScopeView:
    """A budget as the gate looks at it."""
    policy: Policy = budget.policy
    return ScopeView(
        scope=budget.scope,
        mode=policy.mode,
        limit_tokens=policy.limit_tokens,
        limit_nano_usd=policy.limit_nano_usd,
        spent=budget.spent,
        held=budget.held,
        granted=budget.granted,
        window_start=budget.window_start,
        frozen=policy.frozen,
        warn_at=policy.warn_at,
        backpressure=policy.backpressure,
    )


def preview(asks: Sequence[PendingAsk], scope: Scope, grant: Amount) -> Effect:
    """What a grant to `scope` does to calls that ask again one after the other, in this order."""
    held: dict[Scope, Amount] = {}
    decisions = []
    for ask in asks:
        views = [_granted(view, held, scope, grant) for view in ask.views]
        decision = decide(views, ask.ask, ask.least)
        decisions.append(decision)
        if decision.amount is not None:
            held |= {view.scope: held.get(view.scope, Amount()) + decision.amount for view in views}
    return _effect(decisions, scope, grant)


def without_delay(request: ApprovalRequest, steps: Sequence[BackpressureStep]) -> Amount:
    """The least grant with which all that waits fits below the first step of the scope's backpressure.

    At least the shortage; exactly that where no grant keeps the ratio below the first step.
    """
    first = next((step.ratio for step in steps if step.delay_ms > 0), None)
    short = request.shortage
    if first is None or first <= 0 or short == Amount():
        return short
    over, under = first.as_integer_ratio()
    taken = sum((waiter.ask for waiter in request.waiters), request.spent + request.held)

    def missing(limit: int | None, granted: int, used: int) -> int:
        return 0 if limit is None else max(0, used * under // over + 1 - limit - granted)

    return Amount(
        max(short.tokens, missing(request.limit_tokens, request.granted.tokens, taken.tokens)),
        max(short.nano_usd, missing(request.limit_nano_usd, request.granted.nano_usd, taken.nano_usd)),
    )


def suggested(request: ApprovalRequest, steps: Sequence[BackpressureStep]) -> Amount:
    """What a form offers first: the grant without delay, unless that alone makes a second person necessary."""
    easy = without_delay(request, steps)
    return request.shortage if request.needs_two(easy) and not request.needs_two(request.shortage) else easy


def _granted(view: ScopeView, held: Mapping[Scope, Amount], scope: Scope, grant: Amount) -> ScopeView:
    more = grant if view.scope == scope else Amount()
    return replace(view, granted=view.granted + more, held=view.held + held.get(view.scope, Amount()))


def _effect(decisions: Sequence[Decision], scope: Scope, grant: Amount) -> Effect:
    admitted = [decision for decision in decisions if decision.verdict.admits]
    slowest = max(admitted, key=lambda decision: decision.delay_ms, default=None)
    ratios = [one.ratio for decision in admitted for one in decision.scopes if one.scope == scope]

    def count(verdict: Verdict) -> int:
        return sum(decision.verdict is verdict for decision in decisions)

    return Effect(
        grant=grant,
        ratio=ratios[-1] if ratios else None,
        delay_ms=slowest.delay_ms if slowest else 0,
        slowed_by=slowest.slowed_by if slowest else None,
        admitted=len(admitted),
        asking=count(Verdict.ASK),
        waiting=count(Verdict.WAIT),
        refused=count(Verdict.REFUSE),
    )
