"""What the gate answers to every path and every ask."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

from hypothesis import assume, given
from hypothesis import strategies as st

from purser.budget.gate import Amount, ScopeView, Verdict, gate_answer, price_of, smallest
from purser.budget.policies.fields import DEFAULT_BACKPRESSURE, Mode
from purser.budget.policies.policy import Policy
from purser.budget.previews import reserve_of
from purser.wire.limits import MAX_AMOUNT
from tests.support.approving import missing
from tests.support.budgets.one_limit import view
from tests.support.views import SCALES, Case, Wanted, asks, cases, views


@given(SCALES.flatmap(asks), st.integers(0, MAX_AMOUNT))
def test_a_shrunk_price_is_linear_and_rounded_up(wanted: Wanted, tokens: int) -> None:
    full, least = wanted
    assume(least.tokens < full.tokens)
    tokens = least.tokens + tokens % (full.tokens - least.tokens + 1)
    exact = least.nano_usd + Fraction(
        (tokens - least.tokens) * (full.nano_usd - least.nano_usd), full.tokens - least.tokens
    )
    assert 0 <= price_of(tokens, full, least) - exact < 1


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
    granted = [replace(seen, granted=seen.granted + missing(seen, full)) for seen in path]
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
