"""The gate's verdict on an ask, from the balances that SQL read under lock.

SQL applies one condition (the ask fits on every bounded scope, or nothing is held); `gate_answer` derives the verdict,
the ratio and the delay from the same figures. A property test proves that both always agree on what is admitted.
"""

from collections.abc import Sequence
from decimal import Decimal

from purser.budget.gate.answers import (
    NOTHING,
    SHADOW,
    UNKNOWN_PRICE,
    UNLIMITED,
    Amount,
    GateAnswer,
    Pressure,
    ScopeAnswer,
    ScopeView,
    Shadowed,
    Verdict,
)
from purser.budget.policies.fields import Mode
from purser.budget.policies.ladder import Reached, reached

_SEVERITY = {verdict: severity for severity, verdict in enumerate(Verdict)}


def gate_answer(
    views: Sequence[ScopeView],
    ask: Amount,
    least: Amount | None = None,
    *,
    patient: bool = True,
    priced: bool = True,
) -> GateAnswer:
    """Judges an ask against every scope of its path; the strictest scope wins.

    An ask without money, such as that of a local model, passes limits of money, exhausted ones too.

    Args:
        views: the path as SQL saw it, outermost first.
        ask: the most that the call may use.
        least: the smallest ask that still makes sense, if the call can be shrunk.
        patient: whether the caller can wait for open holds to end; if not, the mode applies at once.
        priced: False if the cost of the call is unknown and `ask` has no money. Such an ask is refused if a scope
            limits money, in any mode.

    A scope whose policy only records has the verdict `allow`, and `would` is its own.
    """
    least = smallest(ask, least)
    unknown = not priced and any(view.needs_price for view in views)
    amount = None if unknown else admitted(views, ask, least)
    scopes = tuple(
        _judge(view, ask, amount or ask, least if view.shadow else amount or least, patient, priced) for view in views
    )
    verdict = max((scope.verdict for scope in scopes), key=_SEVERITY.__getitem__)
    ratios = [scope.ratio for scope in scopes if not scope.view.shadow]
    return GateAnswer(
        verdict=verdict,
        amount=amount,
        delay_ms=max(scope.delay_ms for scope in scopes),
        pressure=pressure(None if None in ratios else max((ratio or 0.0 for ratio in ratios), default=0.0)),
        scopes=scopes,
    )


def smallest(ask: Amount, least: Amount | None) -> Amount:
    """The amount to which an ask may shrink. Money shrinks with the tokens: if they cannot, neither does money."""
    return ask if least is None or least.tokens == ask.tokens else least


def admitted(views: Sequence[ScopeView], ask: Amount, least: Amount) -> Amount | None:
    """The amount that every scope of the path admits: `ask`, or a part not below `least`; `None` if nothing fits."""
    if any((view.frozen and not view.shadow) or view.queued for view in views):
        return None
    tokens = ask.tokens
    for view in (view for view in views if view.bounded):
        most_tokens, most_nano = room(view)
        if not _has_capacity(view):
            return None
        if most_tokens is not None:
            tokens = min(tokens, most_tokens)
        if most_nano is not None:
            tokens = min(tokens, _tokens_for(max(0, most_nano), ask, least))
    if tokens < least.tokens:
        return None
    return Amount(tokens, price_of(tokens, ask, least))


def price_of(tokens: int, ask: Amount, least: Amount) -> int:
    """Nano-dollars of a shrunk ask: linear between `least` and `ask`, rounded up."""
    if ask.tokens == least.tokens:
        return ask.nano_usd
    extra_tokens, extra_nano = ask.tokens - least.tokens, ask.nano_usd - least.nano_usd
    return least.nano_usd - (least.tokens - tokens) * extra_nano // extra_tokens


def pressure(ratio: float | None) -> Pressure:
    """The ratio in words: low < 0.5, medium < 0.75, high < 0.9, else critical; `None` is critical."""
    if ratio is None or ratio >= 0.9:
        return Pressure.CRITICAL
    if ratio >= 0.75:
        return Pressure.HIGH
    return Pressure.MEDIUM if ratio >= 0.5 else Pressure.LOW


def _tokens_for(nano: int, ask: Amount, least: Amount) -> int:
    if ask.nano_usd <= nano:
        return ask.tokens
    if least.nano_usd > nano or ask.nano_usd == least.nano_usd:
        return -1
    return least.tokens + (nano - least.nano_usd) * (ask.tokens - least.tokens) // (ask.nano_usd - least.nano_usd)


def room(view: ScopeView, *, count_holds: bool = True) -> tuple[int | None, int | None]:
    """Tokens and nano-dollars that an ask may use, now or once all open holds have ended; `None`: no limit.

    An ordinary ask leaves the reserve alone. Each last call may use its part of it, so that all of them fit, or what an
    ordinary ask may use, if that is more.
    """
    tokens, nano = view.limit_tokens, view.limit_nano_usd
    held = view.held if count_holds else NOTHING
    if tokens is not None:
        left = tokens + view.granted.tokens - view.spent.tokens - held.tokens
        tokens = _unreserved(left, view.reserve.tokens, view.last_of)
    if nano is not None:
        left = nano + view.granted.nano_usd - view.spent.nano_usd - held.nano_usd
        nano = _unreserved(left, view.reserve.nano_usd, view.last_of)
    return tokens, nano


def _unreserved(left: int, reserve: int, last_of: int) -> int:
    ordinary = left - reserve
    return min(left, max(reserve // last_of, ordinary)) if last_of else ordinary


def _has_capacity(view: ScopeView) -> bool:
    """Whether limit + granted is above 0 in tokens: where it is 0 nothing fits, not even an addition of zero."""
    return view.limit_tokens is None or view.limit_tokens + view.granted.tokens > 0


def _fits(view: ScopeView, ask: Amount, *, count_holds: bool) -> bool:
    tokens, nano = room(view, count_holds=count_holds)
    return (
        _has_capacity(view)
        and (tokens is None or ask.tokens <= tokens)
        and (nano is None or ask.nano_usd <= nano or not ask.nano_usd)
    )


def _shares(view: ScopeView, ask: Amount) -> list[tuple[int, int]] | None:
    """Used amount and capacity, for tokens and money where they are limited; None if nothing can fit.

    Money counts only where the ask has money.
    """
    if not _has_capacity(view):
        return None
    shares = []
    if view.limit_tokens is not None:
        taken = view.spent.tokens + view.held.tokens + ask.tokens
        shares.append((taken, view.limit_tokens + view.granted.tokens))
    if view.limit_nano_usd is not None and ask.nano_usd:
        capacity = view.limit_nano_usd + view.granted.nano_usd
        if not capacity:
            return None
        shares.append((view.spent.nano_usd + view.held.nano_usd + ask.nano_usd, capacity))
    return shares


def _reaches(shares: list[tuple[int, int]] | None, threshold: Decimal) -> bool:
    """Whether the ratio is at least `threshold`, in integer arithmetic: rounding must not decide about money."""
    if shares is None:
        return True
    over, under = threshold.as_integer_ratio()
    for taken, capacity in shares:  # noqa: SIM110 - a generator takes several times as long
        if taken * under >= over * capacity:
            return True
    return False


def _delay(view: ScopeView, shares: list[tuple[int, int]] | None) -> int:
    """The delay of the highest step reached. Steps ascend, and most asks are below the lowest."""
    if not view.backpressure or not _reaches(shares, view.backpressure[0].ratio):
        return 0
    return next(step.delay_ms for step in reversed(view.backpressure) if _reaches(shares, step.ratio))


def _step(view: ScopeView, whole: Amount) -> Reached | None:
    if not view.ladder:
        return None
    shares = _shares(view, whole)
    return reached(view.ladder, sum(_reaches(shares, step.ratio) for step in view.ladder))


def _judge(view: ScopeView, whole: Amount, ask: Amount, least: Amount, patient: bool, priced: bool) -> ScopeAnswer:
    shares = _shares(view, ask)
    unpriced = not priced and view.limit_nano_usd is not None
    verdict, reason = (Verdict.REFUSE, UNKNOWN_PRICE) if unpriced else _verdict(view, least, shares, patient)
    tokens, nano = room(view)
    ratio = None if shares is None else max((taken / capacity for taken, capacity in shares), default=0.0)
    delay_ms = _delay(view, shares)
    if view.shadow:
        return ScopeAnswer(view, Verdict.ALLOW, ratio, tokens, nano, SHADOW, would=Shadowed(verdict, reason, delay_ms))
    return ScopeAnswer(view, verdict, ratio, tokens, nano, reason, delay_ms, ladder=_step(view, whole))


def _verdict(
    view: ScopeView, least: Amount, shares: list[tuple[int, int]] | None, patient: bool
) -> tuple[Verdict, str]:
    if view.frozen:
        return Verdict.REFUSE, "frozen"
    if view.limit_tokens is None and view.limit_nano_usd is None:
        return Verdict.ALLOW, UNLIMITED
    fits = _fits(view, least, count_holds=True)
    if view.mode is Mode.SOFT and not fits:
        return Verdict.WARN, "over_limit"
    if fits and not view.queued:
        warned = bool(view.warn_at) and _reaches(shares, view.warn_at[0])
        return (Verdict.WARN, "warning") if warned else (Verdict.ALLOW, "fits")
    if patient and _fits(view, least, count_holds=False):
        return Verdict.WAIT, "open_holds" if not fits else "queued"
    return (Verdict.ASK, "approval") if view.mode is Mode.APPROVAL else (Verdict.REFUSE, "limit")
