"""Previews of grants: the gate's own rules, applied as if the grant had been made."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from purser.budget.approvals import ApprovalRequest
from purser.budget.gate import Amount, GateAnswer, ScopeView, Verdict, gate_answer
from purser.budget.policies.fields import BackpressureStep, Mode
from purser.budget.policies.policy import Policy
from purser.budget.reports.views import BudgetView
from purser.budget.scopes import Scope
from purser.wire.limits import MAX_AMOUNT


@dataclass(frozen=True, slots=True)
class PendingAsk:
    """A waiting call with the current budgets of its path, outermost first."""

    ask: Amount
    least: Amount
    """The smallest hold that it accepts."""
    views: tuple[ScopeView, ...]


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of a grant on the waiting calls."""

    grant: Amount
    ratio: float | None
    """Ratio of the granted scope once all calls that fit are admitted; `None` if none fits."""
    delay_ms: int
    """Longest backpressure delay of the admitted calls."""
    slowed_by: Scope | None
    """The scope that causes the delay."""
    admitted: int
    """Number of calls that are admitted."""
    asking: int
    """Number of calls that need another approval."""
    waiting: int
    """Number of calls that wait for open holds of others."""
    refused: int


def as_view(budget: BudgetView) -> ScopeView:
    """Converts a budget into the gate's view of its scope."""
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
        shadow=policy.shadow,
        warn_at=policy.warn_at,
        backpressure=policy.backpressure,
        reserve=reserve_of(policy),
        ladder=() if policy.shadow else policy.ladder,
    )


def reserve_of(policy: Policy) -> Amount:
    """The part of a policy's limits that only last calls may use."""
    if policy.mode is Mode.SOFT or policy.shadow:
        return Amount()
    over, under = policy.last_answer.as_integer_ratio()
    return Amount((policy.limit_tokens or 0) * over // under, (policy.limit_nano_usd or 0) * over // under)


def preview(asks: Sequence[PendingAsk], scope: Scope, grant: Amount) -> Effect:
    """Computes the effect of a grant to `scope` on calls that ask again one after the other, in this order."""
    held: dict[Scope, Amount] = {}
    answers = []
    for ask in asks:
        views = [_granted(view, held, scope, grant) for view in ask.views]
        answer = gate_answer(views, ask.ask, ask.least)
        answers.append(answer)
        if answer.amount is not None:
            held |= {view.scope: held.get(view.scope, Amount()) + answer.amount for view in views}
    return _effect(answers, scope, grant)


def without_delay(request: ApprovalRequest, steps: Sequence[BackpressureStep]) -> Amount:
    """The smallest grant with which all waiting calls fit below the first backpressure step of the scope.

    Never less than the shortage; equal to it where no grant gets the ratio below the first step.
    """
    first = next((step.ratio for step in steps if step.delay_ms > 0), None)
    short = request.shortage
    if first is None or first <= 0 or short == Amount():
        return short
    over, under = first.as_integer_ratio()
    taken = request.spent + request.held + request.waiting

    def missing(limit: int | None, granted: int, used: int) -> int:
        return 0 if limit is None else min(used * under // over + 1 - limit - granted, MAX_AMOUNT)

    return Amount(
        max(short.tokens, missing(request.limit_tokens, request.granted.tokens, taken.tokens)),
        max(short.nano_usd, missing(request.limit_nano_usd, request.granted.nano_usd, taken.nano_usd)),
    )


def suggested(request: ApprovalRequest, steps: Sequence[BackpressureStep], alone: Amount) -> Amount:
    """The default grant of a form: the grant without delay, unless only that requires a second approver.

    `alone` is what the approver has granted in this window already.
    """
    easy, short = without_delay(request, steps), request.shortage
    return short if request.needs_two(easy, alone) and not request.needs_two(short, alone) else easy


def _granted(view: ScopeView, held: Mapping[Scope, Amount], scope: Scope, grant: Amount) -> ScopeView:
    more = grant if view.scope == scope else Amount()
    return replace(view, granted=view.granted + more, held=view.held + held.get(view.scope, Amount()))


def _effect(answers: Sequence[GateAnswer], scope: Scope, grant: Amount) -> Effect:
    admitted = [answer for answer in answers if answer.verdict.admits]
    slowest = max(admitted, key=lambda answer: answer.delay_ms, default=None)
    ratios = [one.ratio for answer in admitted for one in answer.scopes if one.scope == scope]

    def count(verdict: Verdict) -> int:
        return sum(answer.verdict is verdict for answer in answers)

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
