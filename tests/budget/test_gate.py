"""Verdicts of the gate: the table of the design at its edges, and properties of every path and ask."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from purser.budget.gate import Amount, Pressure, ScopeView, Verdict, gate_answer, pressure, price_of, shortage, smallest
from purser.budget.policies.fields import DEFAULT_BACKPRESSURE, MAX_AMOUNT, BackpressureStep, Mode
from purser.budget.policies.policy import Policy
from purser.budget.previews import reserve_of
from purser.budget.scopes import Scope
from tests.support.views import SCALES, Case, Wanted, asks, cases, views

SESSION = Scope.parse("session:s1")
UNITS = ("tokens", "nano_usd")


def view(unit: str = "tokens", limit: int | None = None, mode: str = "hard", **fields: Any) -> ScopeView:
    """A scope with one limit; spent, held and granted are figures of that unit."""
    amounts: dict[str, Any] = {name: Amount(**{unit: fields.pop(name, 0)}) for name in ("spent", "held", "granted")}
    limits: dict[str, Any] = {"limit_tokens": None, "limit_nano_usd": None, f"limit_{unit}": limit}
    return ScopeView(SESSION, Mode(mode), **limits, **amounts, **fields)


def ask(unit: str, amount: int) -> Amount:
    """An ask for one unit; where money counts, the one token never matters."""
    return Amount(amount) if unit == "tokens" else Amount(1, amount)


def verdict(seen: ScopeView, wanted: Amount, **options: Any) -> Verdict:
    return gate_answer([seen], wanted, **options).verdict


# --- the limit -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize(
    ("mode", "over"), [("hard", Verdict.REFUSE), ("approval", Verdict.ASK), ("soft", Verdict.WARN)]
)
def test_equal_to_the_limit_passes_and_one_more_does_not(unit: str, mode: str, over: Verdict) -> None:
    seen = view(unit, 1_000, mode, spent=600, granted=100, warn_at=())
    assert gate_answer([seen], ask(unit, 500)).scopes[0].reason == "fits"
    beyond = gate_answer([seen], ask(unit, 501))
    assert beyond.verdict is over
    assert (beyond.amount is not None) is (mode == "soft")


def test_an_unlimited_scope_lets_everything_through_and_has_no_ratio_to_speak_of() -> None:
    answer = gate_answer([view(spent=10**12)], Amount(MAX_AMOUNT, MAX_AMOUNT))
    (scope,) = answer.scopes
    assert (answer.verdict, answer.delay_ms, answer.pressure) == (Verdict.ALLOW, 0, Pressure.LOW)
    assert (scope.ratio, scope.headroom_tokens, scope.headroom_nano_usd, scope.reason) == (0.0, None, None, "unlimited")


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("mode", ["hard", "approval", "soft"])
def test_where_limit_and_grants_are_nothing_the_ratio_is_null_and_nothing_fits(unit: str, mode: str) -> None:
    answer = gate_answer([view(unit, 0, mode)], ask(unit, 1))
    assert answer.scopes[0].ratio is None
    assert (answer.delay_ms, answer.pressure) == (5_000, Pressure.CRITICAL)
    assert answer.verdict is {"hard": Verdict.REFUSE, "approval": Verdict.ASK, "soft": Verdict.WARN}[mode]


@pytest.mark.parametrize("unit", UNITS)
def test_a_grant_makes_room_where_the_limit_is_nothing(unit: str) -> None:
    assert gate_answer([view(unit, 0, granted=10)], ask(unit, 10)).amount == ask(unit, 10)


def test_money_and_tokens_must_both_fit() -> None:
    seen = replace(view("tokens", 1_000), limit_nano_usd=500)
    assert verdict(seen, Amount(1_000, 501)) is Verdict.REFUSE
    assert verdict(seen, Amount(1_001, 500)) is Verdict.REFUSE
    assert gate_answer([seen], Amount(1_000, 500)).amount == Amount(1_000, 500)


@pytest.mark.parametrize("limit", [0, 100])
def test_what_costs_nothing_passes_an_exhausted_money_limit_without_delay(limit: int) -> None:
    seen = view("nano_usd", limit, spent=101)
    answer = gate_answer([seen], Amount(1, 0))
    assert (answer.verdict, answer.scopes[0].reason, answer.scopes[0].ratio, answer.delay_ms) == (
        Verdict.ALLOW, "fits", 0.0, 0,
    )  # fmt: skip
    assert verdict(seen, Amount(1, 1)) is Verdict.REFUSE
    assert shortage([seen], Amount(1, 0), seen.scope) == Amount()


def test_what_costs_nothing_needs_tokens_and_a_scope_that_is_not_frozen() -> None:
    exhausted = view("nano_usd", 100, spent=101)
    assert verdict(replace(exhausted, limit_tokens=10), Amount(11)) is Verdict.REFUSE
    assert verdict(replace(exhausted, frozen=True), Amount(1)) is Verdict.REFUSE


def test_an_ask_shrinks_to_the_part_that_costs_nothing() -> None:
    assert gate_answer([view("nano_usd", 100, spent=101)], Amount(50, 10), Amount(20, 0)).amount == Amount(20, 0)


def test_a_frozen_scope_refuses_in_every_mode_with_or_without_a_limit() -> None:
    for mode in Mode:
        for limit in (None, 1_000):
            answer = gate_answer([view("tokens", limit, mode, frozen=True)], Amount(1))
            assert (answer.verdict, answer.scopes[0].reason, answer.amount) == (Verdict.REFUSE, "frozen", None)


# --- warnings, delays and pressure -----------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize(
    ("taken", "delay"),
    [
        (0, 0), (799_999, 0),
        (800_000, 50), (849_999, 50),
        (850_000, 300), (899_999, 300),
        (900_000, 750), (949_999, 750),
        (950_000, 1_500), (999_999, 1_500),
        (1_000_000, 5_000), (2_000_000, 5_000),
    ],
)  # fmt: skip
def test_the_delay_follows_the_ratio_at_every_edge(unit: str, taken: int, delay: int) -> None:
    # The ask is part of the ratio, and so are holds and grants.
    seen = view(unit, 900_000, "soft", spent=max(0, taken - 20), held=min(taken, 10), granted=100_000)
    wanted = ask(unit, taken - seen.spent.tokens - seen.held.tokens - seen.spent.nano_usd - seen.held.nano_usd)
    assert gate_answer([seen], wanted).delay_ms == delay


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("limit", [1_000, 3, 7, 10**15 + 7, MAX_AMOUNT])
@pytest.mark.parametrize("threshold", ["0.8", "0.85", "0.95", "0.333333"])
def test_a_threshold_is_met_exactly_and_not_one_below(unit: str, limit: int, threshold: str) -> None:
    steps = [BackpressureStep(Decimal(threshold), 77)]
    reached = -(-limit * Fraction(threshold) // 1)
    seen = view(unit, limit, warn_at=[Decimal(threshold)], backpressure=steps)
    at, below = gate_answer([seen], ask(unit, int(reached))), gate_answer([seen], ask(unit, int(reached) - 1))
    assert (at.verdict, at.scopes[0].reason, at.delay_ms) == (Verdict.WARN, "warning", 77)
    assert (below.verdict, below.delay_ms) == (Verdict.ALLOW, 0)


def test_the_highest_ratio_of_the_path_sets_the_delay() -> None:
    path = [view("tokens", 100, "soft", spent=89), view("nano_usd", 100, "soft", spent=84), view()]
    assert gate_answer(path, Amount(1, 1)).delay_ms == 750


def test_the_larger_of_tokens_and_money_is_the_ratio() -> None:
    seen = replace(view("tokens", 100, "soft", spent=10), limit_nano_usd=100, held=Amount(0, 85))
    assert gate_answer([seen], Amount(1, 5)).scopes[0].ratio == 0.9


def test_when_usage_falls_the_delay_does_too() -> None:
    crowded = view("tokens", 1_000, "soft", spent=980)
    assert gate_answer([crowded], Amount(20)).delay_ms == 5_000
    assert gate_answer([replace(crowded, granted=Amount(1_000))], Amount(20)).delay_ms == 0


@pytest.mark.parametrize(
    ("ratio", "word"),
    [
        (0.0, "low"), (0.4999, "low"), (0.5, "medium"), (0.7499, "medium"),
        (0.75, "high"), (0.8999, "high"), (0.9, "critical"), (2.0, "critical"), (None, "critical"),
    ],
)  # fmt: skip
def test_pressure_puts_the_ratio_into_words(ratio: float | None, word: str) -> None:
    assert pressure(ratio) == word


# --- waiting ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", UNITS)
def test_waiting_is_for_a_shortage_that_only_open_holds_cause(unit: str) -> None:
    seen = view(unit, 1_000, spent=500, held=500)
    assert gate_answer([seen], ask(unit, 500)).scopes[0].reason == "open_holds"
    assert verdict(seen, ask(unit, 500)) is Verdict.WAIT
    assert verdict(seen, ask(unit, 501)) is Verdict.REFUSE
    assert verdict(replace(seen, mode=Mode.APPROVAL), ask(unit, 501)) is Verdict.ASK


def test_a_caller_that_cannot_wait_gets_the_verdict_of_the_mode() -> None:
    seen = view("tokens", 1_000, held=1_000)
    assert verdict(seen, Amount(1), patient=False) is Verdict.REFUSE
    assert verdict(replace(seen, mode=Mode.APPROVAL), Amount(1), patient=False) is Verdict.ASK


def test_the_older_waiter_goes_first() -> None:
    answer = gate_answer([view("tokens", 1_000, queued=True)], Amount(1))
    assert (answer.verdict, answer.scopes[0].reason, answer.amount) == (Verdict.WAIT, "queued", None)


# --- several scopes --------------------------------------------------------------------------------------------------

SAYING = {
    Verdict.ALLOW: view("tokens", 1_000),
    Verdict.WARN: view("tokens", 1_000, spent=850),
    Verdict.WAIT: view("tokens", 1_000, held=950),
    Verdict.ASK: view("tokens", 1_000, "approval", spent=950),
    Verdict.REFUSE: view("tokens", 1_000, spent=950),
}


@pytest.mark.parametrize("one", Verdict)
@pytest.mark.parametrize("other", Verdict)
def test_the_strictest_scope_wins_at_any_level(one: Verdict, other: Verdict) -> None:
    order = list(Verdict)
    answer = gate_answer([SAYING[one], view(), SAYING[other]], Amount(100))
    assert answer.verdict is max(one, other, key=order.index)
    assert [scope.verdict for scope in answer.scopes] == [one, Verdict.ALLOW, other]
    assert answer.decisive.verdict is answer.verdict
    assert (answer.amount is not None) is answer.verdict.admits


# --- shrinking -------------------------------------------------------------------------------------------------------


def test_an_ask_shrinks_to_what_is_left_and_never_below_its_least() -> None:
    seen = view("tokens", 1_000, spent=700)
    assert gate_answer([seen], Amount(500), Amount(100)).amount == Amount(300)
    assert gate_answer([seen], Amount(500), Amount(300)).amount == Amount(300)
    assert gate_answer([seen], Amount(500), Amount(301)).amount is None
    assert gate_answer([seen], Amount(500)).amount is None


def test_tokens_and_money_shrink_together() -> None:
    seen = view("nano_usd", 1_000, spent=400)
    # From 100 tokens at 200 to 500 tokens at 1,000: two nano-dollars a token, rounded up, never above what is left.
    assert gate_answer([seen], Amount(500, 1_000), Amount(100, 200)).amount == Amount(300, 600)
    one_less = replace(seen, spent=Amount(0, 401))
    assert gate_answer([one_less], Amount(500, 1_000), Amount(100, 200)).amount == Amount(299, 598)


def test_an_ask_whose_tokens_cannot_shrink_is_all_or_nothing() -> None:
    assert gate_answer([view("nano_usd", 700)], Amount(100, 1_000), Amount(100, 500)).amount is None


@given(SCALES.flatmap(asks), st.integers(0, MAX_AMOUNT))
def test_a_shrunk_price_is_linear_and_rounded_up(wanted: Wanted, tokens: int) -> None:
    full, least = wanted
    assume(least.tokens < full.tokens)
    tokens = least.tokens + tokens % (full.tokens - least.tokens + 1)
    exact = least.nano_usd + Fraction(
        (tokens - least.tokens) * (full.nano_usd - least.nano_usd), full.tokens - least.tokens
    )
    assert 0 <= price_of(tokens, full, least) - exact < 1


# --- unknown prices --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["hard", "approval", "soft"])
@pytest.mark.parametrize(
    ("unit", "limit", "reason"),
    [("nano_usd", 10**9, "unknown_price"), ("tokens", 100, "fits"), ("tokens", None, "unlimited")],
)
def test_an_ask_without_a_price_is_refused_where_money_is_limited_in_every_mode(
    mode: str, unit: str, limit: int | None, reason: str
) -> None:
    seen = view(unit, limit, mode)
    answer = gate_answer([seen], Amount(10), priced=False)
    assert (answer.decisive.reason, answer.unpriced) == (reason, reason == "unknown_price")
    assert answer.verdict is (Verdict.REFUSE if answer.unpriced else Verdict.ALLOW)
    assert not gate_answer([seen], Amount(10)).unpriced


def test_the_scope_that_needs_a_price_is_named_before_others_that_refuse() -> None:
    frozen, money = view(frozen=True), replace(view("nano_usd", 700), scope=Scope.parse("task:t1"), frozen=True)
    answer = gate_answer([frozen, money], Amount(10), priced=False)
    assert (answer.decisive.scope, answer.decisive.view) == (money.scope, money)
    assert gate_answer([frozen, money], Amount(10)).decisive.scope == frozen.scope


@given(cases())
def test_an_ask_without_a_price_gets_what_it_gets_for_no_money_or_needs_a_price(case: Case) -> None:
    path, [(full, least)] = case
    free, part = Amount(full.tokens), Amount(least.tokens)
    answer = gate_answer(path, free, part, priced=False)
    if any(seen.needs_price for seen in path):
        assert answer.unpriced
        assert answer.amount is None
    else:
        free_answer = gate_answer(path, free, part)
        assert (answer.verdict, answer.amount, answer.delay_ms) == (
            free_answer.verdict, free_answer.amount, free_answer.delay_ms,
        )  # fmt: skip


@given(cases(), st.booleans(), st.booleans())
def test_a_policy_in_shadow_changes_nothing_and_records_its_own_verdict(
    case: Case, patient: bool, priced: bool
) -> None:
    path, [(full, least)] = case
    if not priced:
        full, least = Amount(full.tokens), Amount(least.tokens)
    answer = gate_answer(path, full, least, patient=patient, priced=priced)
    applied = [
        replace(seen, limit_tokens=None, limit_nano_usd=None, frozen=False) if seen.shadow else seen for seen in path
    ]
    without = gate_answer(applied, full, least, patient=patient, priced=priced)
    assert (answer.verdict, answer.amount, answer.delay_ms) == (without.verdict, without.amount, without.delay_ms)
    held = answer.amount or full
    for seen, one in zip(path, answer.scopes, strict=True):
        assert (one.would is None) is not seen.shadow
        if one.would is not None:
            assert (one.verdict, one.delay_ms, one.reason) == (Verdict.ALLOW, 0, "shadow")
            alone = gate_answer(
                [replace(seen, shadow=False)], held, smallest(held, least), patient=patient, priced=priced
            )
            assert one.would.verdict.admits is alone.verdict.admits
            if held.tokens == least.tokens:
                (decided,) = alone.scopes
                assert (one.would.verdict, one.would.reason, one.would.delay_ms) == (
                    decided.verdict, decided.reason, decided.delay_ms,
                )  # fmt: skip


def test_the_strictest_shadow_verdict_names_its_outermost_scope() -> None:
    full = view(limit=100, spent=100, shadow=True)
    asks_first = replace(full, scope=Scope.parse("task:t1"), mode=Mode.APPROVAL)
    answer = gate_answer([asks_first, full, replace(full, scope=Scope.parse("task:t2"))], Amount(1))
    assert answer.held_up_by == ("refuse", full.scope)
    assert answer.verdict is Verdict.ALLOW
    delayed = gate_answer([view(limit=100, spent=90, mode="soft", shadow=True)], Amount(1))
    assert delayed.held_up_by == ("delay", SESSION)
    assert delayed.delay_ms == 0
    assert gate_answer([view(limit=100, spent=90)], Amount(1)).held_up_by is None


# --- for every path and every ask ------------------------------------------------------------------------------------


@given(cases(), st.booleans())
def test_what_is_admitted_fits_on_every_bounded_scope(case: Case, patient: bool) -> None:
    path, [(full, least)] = case
    answer = gate_answer(path, full, least, patient=patient)
    assert answer.verdict.admits is (answer.amount is not None)
    if answer.amount is None:
        return
    assert least.tokens <= answer.amount.tokens <= full.tokens
    assert answer.amount.nano_usd <= full.nano_usd
    for seen in path:
        assert not seen.frozen or seen.shadow
        after = seen.spent + seen.held + answer.amount
        if seen.bounded and seen.limit_tokens is not None:
            assert after.tokens <= seen.limit_tokens + seen.granted.tokens
        if seen.bounded and seen.limit_nano_usd is not None and answer.amount.nano_usd:
            assert after.nano_usd <= seen.limit_nano_usd + seen.granted.nano_usd


@given(cases())
def test_nothing_larger_would_have_fitted(case: Case) -> None:
    path, [(full, least)] = case
    got = gate_answer(path, full, least).amount
    if got is not None and got != full:
        more = Amount(got.tokens + 1, price_of(got.tokens + 1, full, least))
        assert gate_answer(path, more).amount is None


@given(cases(), st.booleans())
def test_a_refusal_names_a_scope_that_is_short(case: Case, patient: bool) -> None:
    path, [wanted] = case
    answer = gate_answer(path, *wanted, patient=patient)
    if answer.amount is None:
        assert not answer.decisive.verdict.admits
        assert answer.decisive.reason in ("frozen", "limit", "approval", "open_holds", "queued")


@given(cases())
def test_waiting_is_said_exactly_where_it_can_help(case: Case) -> None:
    path, [wanted] = case
    freed = [replace(seen, held=Amount(), queued=False) for seen in path]
    now, later = gate_answer(path, *wanted), gate_answer(freed, *wanted)
    assert (now.verdict is Verdict.WAIT) is (later.verdict.admits and not now.verdict.admits)


@given(views(), st.integers(1, 2_000), st.integers(0, 2_000))
def test_a_larger_ask_is_delayed_no_less(seen: ScopeView, tokens: int, more: int) -> None:
    seen = replace(seen, backpressure=DEFAULT_BACKPRESSURE)
    assert gate_answer([seen], Amount(tokens)).delay_ms <= gate_answer([seen], Amount(tokens + more)).delay_ms


@given(cases())
def test_a_grant_of_the_shortage_admits(case: Case) -> None:
    path, [(full, _)] = case
    path = [replace(seen, frozen=False, queued=False) for seen in path]
    granted = [replace(seen, granted=seen.granted + shortage(path, full, seen.scope)) for seen in path]
    assume(all(scope.ratio is not None for scope in gate_answer(granted, full).scopes))
    assert gate_answer(granted, full).amount == full


# --- last answers ----------------------------------------------------------------------------------------------------


@given(
    limit=st.integers(1, 2_000),
    share=st.sampled_from([Decimal("0.1"), Decimal("0.333333"), Decimal("0.9")]),
    agents=st.integers(1, 5),
    steps=st.lists(st.tuples(st.booleans(), st.integers(1, 300)), max_size=30),
)
def test_whatever_others_use_each_agent_can_hold_its_part_of_the_reserve_once(
    limit: int, share: Decimal, agents: int, steps: list[tuple[bool, int]]
) -> None:
    seen = view(limit=limit)
    seen = replace(seen, reserve=reserve_of(Policy(limit, mode=Mode.HARD, last_answer=share)))
    part, left = seen.reserve.tokens // agents, agents
    for last, size in (*steps, *[(True, 300)] * agents):
        if last and not left:
            continue
        tokens = min(size, part) if last else size
        if not tokens:
            continue
        answer = gate_answer([replace(seen, last_of=agents if last else 0)], Amount(tokens), patient=False)
        if last:
            assert answer.amount == Amount(tokens)
            left -= 1
        seen = replace(seen, spent=seen.spent + (answer.amount or Amount()))
        assert seen.spent.tokens <= limit


def test_a_last_call_may_use_more_than_its_part_as_far_as_an_ordinary_one_may() -> None:
    seen = replace(view(limit=1_000, spent=500, warn_at=()), reserve=Amount(100))
    concluding = replace(seen, last_of=4)
    assert [gate_answer([one], Amount(400)).verdict for one in (seen, concluding)] == [Verdict.ALLOW] * 2
    assert [gate_answer([one], Amount(401)).verdict for one in (seen, concluding)] == [Verdict.REFUSE] * 2
    spent = replace(concluding, spent=Amount(900))
    assert gate_answer([spent], Amount(26)).verdict is Verdict.REFUSE
    assert gate_answer([spent], Amount(300), Amount(10)).amount == Amount(25)


def test_the_shortage_leaves_the_reserve_alone() -> None:
    seen = replace(view(limit=1_000, mode="approval", spent=850), reserve=Amount(100))
    assert shortage([seen], Amount(80), SESSION) == Amount(30)
