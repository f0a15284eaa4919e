"""The life cycle of a hold: every step and every repetition."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from purser.budget.errors import HoldClosed, InvalidRequest, KeyReused, NotFound
from purser.budget.gate import Amount, Verdict
from purser.budget.holds import HoldState
from purser.budget.postgres.connections.pools import Pool
from purser.budget.pricing.call_prices import quote
from purser.budget.pricing.price_book import PriceBook
from purser.budget.pricing.rates import Price
from purser.budget.usage import Usage
from purser.wire.limits import MAX_CALL_NANO_USD, MAX_CALL_TOKENS
from tests.support.budgets.prices import per_million
from tests.support.ledger import SESSION, TENANT, Books, report, request

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
LEASE, GRACE = timedelta(seconds=120), timedelta(seconds=30)
TASK = ("session:s1", "task:t1", "agent:t1/a1")


# --- hold and settle -------------------------------------------------------------------------------------------------


async def test_a_hold_is_set_aside_on_every_scope_of_its_path(books: Books) -> None:
    hold_id = await books.hold("k", 100, 7, *TASK)
    for scope in TASK:
        assert await books.balance(scope) == {"held": 100}
        assert await books.money(scope) == {"held": 7}
    done = await books.settle(hold_id, 60, 5)
    assert (done.state, done.charged, done.overrun, done.late) == (HoldState.SETTLED, Amount(60, 5), Amount(), False)
    for scope in TASK:
        assert await books.balance(scope) == {"spent": 60}
        assert await books.money(scope) == {"spent": 5}
        assert await books.entries(scope) == ["hold", "settle"]


async def test_a_refused_ask_touches_no_scope_of_its_path(books: Books) -> None:
    await books.budget("task:t1", limit_tokens=50, mode="hard")
    answer = await books.ask("k", 51, 0, *TASK)
    assert (answer.gate.verdict, answer.hold_id, answer.state) == (Verdict.REFUSE, None, HoldState.NONE)
    assert str(answer.gate.decisive.scope) == "task:t1"
    for scope in TASK:
        assert await books.balance(scope) == {}
        assert await books.entries(scope) == []


async def test_the_tightest_scope_of_a_path_decides_at_any_level(books: Books) -> None:
    for scope, limit in zip(TASK, (300, 100, 200), strict=True):
        await books.budget(scope, limit_tokens=limit, limit_nano_usd=2 * limit, mode="hard")
    assert str((await books.ask("tokens", 101, 0, *TASK)).gate.decisive.scope) == "task:t1"
    assert str((await books.ask("money", 1, 201, *TASK)).gate.decisive.scope) == "task:t1"
    assert (await books.ask("part", 301, 0, *TASK, least=Amount(50))).amount == Amount(100)


async def test_what_costs_nothing_passes_an_exhausted_money_limit_in_every_way(books: Books) -> None:
    await books.budget("session:s1", limit_tokens=1_000, limit_nano_usd=100, mode="hard")
    await books.settle(await books.hold("paid", 1, 100), 1, 150)
    assert (await books.ask("costs", 1, 1)).gate.verdict is Verdict.REFUSE
    whole = await books.ask("whole", 300)
    part = await books.ask("part", 1_000, least=Amount(50))
    assert (whole.gate.verdict, part.amount) == (Verdict.ALLOW, Amount(699))
    await books.settle(part.hold_id or "", 599)
    assert (await books.ledger.extend(TENANT, whole.hold_id or "", Amount(100))).extended
    await books.budget("session:s1", frozen=True)
    assert (await books.ask("frozen", 1)).gate.verdict is Verdict.REFUSE


async def test_an_ask_that_shrinks_holds_tokens_and_money_in_proportion(books: Books) -> None:
    await books.budget("session:s1", limit_tokens=300, mode="hard")
    answer = await books.ask("k", 500, 1_000, least=Amount(100, 200))
    assert answer.amount == answer.gate.amount == Amount(300, 600)
    assert (await books.balance(), await books.money()) == ({"held": 300}, {"held": 600})


async def test_an_ask_that_shrinks_to_between_two_tiers_holds_what_its_tokens_may_cost(books: Books) -> None:
    below, above = per_million("1", "1").rates, per_million("2", "2").rates
    price = Price(below, ((200_000, above),))
    quoted = quote(PriceBook({}, {}, price), "m", Usage.from_total(300_000), Usage.from_total(100_000))
    await books.budget("session:s1", limit_tokens=10**9, limit_nano_usd=420_000_000, mode="hard")
    answer = await books.ask("k", quoted.full.tokens, quoted.full.nano_usd, least=quoted.least)
    assert answer.amount == answer.gate.amount == Amount(210_000, 420_000_000)
    assert price.cost(Usage.from_total(210_000)) == 420_000_000


async def test_once_a_hold_exists_its_answer_repeats_and_adds_nothing(books: Books) -> None:
    await books.budget("session:s1", limit_tokens=100, mode="hard")
    first = await books.ask("k", 80)
    await books.budget("session:s1", limit_tokens=10)
    for end in (None, "settle"):
        if end:
            await books.settle(first.hold_id or "", 30)
        again = await books.ask("k", 80)
        assert again.repeated
        assert (again.hold_id, again.gate, again.amount) == (first.hold_id, first.gate, first.amount)
    assert again.state is HoldState.SETTLED
    assert await books.entries() == ["hold", "limit_lowered", "settle"]


@pytest.mark.parametrize("mode", ["hard", "approval"])
async def test_a_hold_admits_a_repetition_whose_estimate_has_grown_as_it_did_at_first(books: Books, mode: str) -> None:
    await books.budget("session:s1", limit_tokens=100, limit_nano_usd=10, mode=mode)
    first = await books.ask("k", 80, 8, sent=b"body")
    again = await books.ask("k", 120, 12, sent=b"body")
    assert first.gate.verdict.admits
    assert (again.hold_id, again.gate.verdict, again.amount) == (first.hold_id, first.gate.verdict, Amount(80, 8))
    assert await books.balance() == {"held": 80}


@pytest.mark.parametrize("verdict", ["allow", "wait", "ask", "refuse"])
async def test_another_payload_under_a_used_key_is_an_error_whatever_the_verdict_was(
    books: Books, verdict: str
) -> None:
    await books.budget("session:s1", limit_tokens=100, mode="approval" if verdict == "ask" else "hard")
    if verdict == "wait":
        await books.hold("other", 100)
    wanted = {"allow": 50, "wait": 100, "ask": 101, "refuse": 101}[verdict]
    assert (await books.ask("k", wanted)).gate.verdict == verdict
    before = await books.rows()
    for other in (
        request("k", wanted - 1),
        request("k", wanted, 1),
        request("k", wanted, 0, "session:s2"),
        request("k", wanted, model="m"),
        request("k", wanted, least=Amount(1)),
    ):
        with pytest.raises(KeyReused, match="'k' is bound to another payload: use a new key"):
            await books.ledger.hold(TENANT, other)
    assert await books.rows() == before
    assert (await books.ask("k", wanted)).gate.verdict == verdict


@pytest.mark.parametrize("mode", ["hard", "approval"])
async def test_while_nothing_is_held_the_same_ask_is_decided_anew(books: Books, mode: str) -> None:
    await books.budget("session:s1", limit_tokens=100, mode=mode)
    assert not (await books.ask("k", 101)).gate.verdict.admits
    await books.budget("session:s1", limit_tokens=101)
    assert (await books.ask("k", 101)).hold_id is not None


async def test_tenants_are_separate(books: Books) -> None:
    await books.budget("session:s1", limit_tokens=100, mode="hard")
    ours = await books.hold("k", 100)
    theirs = await books.ledger.hold("other", request("k", 5_000))
    assert theirs.hold_id not in (None, ours)
    assert await books.balance() == {"held": 100}
    before = await books.rows()
    steps: tuple[Callable[[], Any], ...] = (
        partial(books.ledger.settle, "other", ours, 1, report(1)),
        partial(books.ledger.settle, "other", ours, 1, report(1), keep_open=True),
        partial(books.ledger.start_attempt, "other", ours),
        partial(books.ledger.release, "other", hold_id=ours),
        partial(books.ledger.extend, "other", ours, Amount(1)),
    )
    for step in steps:
        with pytest.raises(NotFound, match=f"hold '{ours}' does not exist for this tenant"):
            await step()
    assert await books.rows() == before


@pytest.mark.parametrize("hold_id", ["", "x", "-1", "1.0", "٣", "999999", "9" * 40, "1; drop table holds"])
async def test_a_hold_that_does_not_exist_is_named(books: Books, hold_id: str) -> None:
    with pytest.raises(NotFound):
        await books.ledger.release(TENANT, hold_id=hold_id)
    with pytest.raises(NotFound):
        await books.settle(hold_id, 1)


async def test_bad_figures_are_refused_before_anything_is_written(books: Books) -> None:
    hold_id = await books.hold("k", 100)
    before = await books.rows(), await books.balance()
    for tokens in (0, -1, True, 1.5, "9", MAX_CALL_TOKENS + 1):
        with pytest.raises(InvalidRequest):
            await books.ask("bad", tokens)  # type: ignore[arg-type]
    for more in (Amount(-1, 1), Amount(1, -1), Amount(True), Amount(1.5), Amount(2**63)):  # type: ignore[arg-type]
        with pytest.raises(InvalidRequest):
            await books.ledger.extend(TENANT, hold_id, more)
    for lease in (0, -5, 2**40):
        with pytest.raises(InvalidRequest):
            await books.ledger.extend(TENANT, hold_id, lease_ms=lease)
    for attempt in (0, -1, True, 2**31):
        with pytest.raises(InvalidRequest):
            await books.settle(hold_id, 1, attempt=attempt)
        with pytest.raises(InvalidRequest):
            await books.ledger.start_attempt(TENANT, hold_id, attempt)
    with pytest.raises(InvalidRequest, match="either hold_id or key"):
        await books.ledger.release(TENANT)
    assert (await books.rows(), await books.balance()) == before


async def test_amounts_near_the_largest_are_exact(books: Books) -> None:
    tokens, nano = MAX_CALL_TOKENS, MAX_CALL_NANO_USD
    await books.budget("session:s1", limit_tokens=tokens, limit_nano_usd=nano, mode="hard")
    await books.spend("big", tokens - 1, nano)
    assert (await books.ask("over", 2)).gate.verdict is Verdict.REFUSE
    answer = await books.ask("last", 1)
    assert answer.gate.scopes[0].headroom_tokens == 1
    for number in range(3):
        await books.spend(f"more{number}", tokens, nano, "session:s2")
    assert await books.balance("session:s2") == {"spent": 3 * tokens}
    assert (await books.ask("again", 1, 0, "session:s2")).gate.scopes[0].headroom_tokens is None
    halved = await books.ask("half", tokens, nano - 1, "session:s3", least=Amount(1, 0))
    assert halved.amount == Amount(tokens, nano - 1)


# --- release and expiry ----------------------------------------------------------------------------------------------


async def test_releasing_frees_what_no_attempt_used(books: Books) -> None:
    hold_id = await books.hold("k", 100)
    done = await books.ledger.release(TENANT, hold_id=hold_id)
    assert (done.hold_id, done.state, done.charged) == (hold_id, HoldState.RELEASED, Amount())
    assert await books.ledger.release(TENANT, key="k") == done
    assert await books.balance() == {}
    assert await books.entries() == ["hold", "release"]


async def test_releasing_presumes_an_attempt_that_never_reported(books: Books) -> None:
    hold_id = await books.hold("k", 100, 10)
    await books.ledger.start_attempt(TENANT, hold_id, 1)
    done = await books.ledger.release(TENANT, key="k")
    assert (done.state, done.charged) == (HoldState.RELEASED, Amount(100, 10))
    assert (await books.balance(), await books.money()) == ({"spent": 100}, {"spent": 10})
    assert await books.entries() == ["hold", "presumed", "release"]


async def test_a_settled_hold_cannot_be_released(books: Books) -> None:
    hold_id = await books.hold("k", 100)
    await books.settle(hold_id, 60)
    done = await books.ledger.release(TENANT, hold_id=hold_id)
    assert (done.state, done.charged) == (HoldState.SETTLED, Amount(60))
    assert await books.entries() == ["hold", "settle"]


@pytest.mark.parametrize("asked_before", [False, True])
async def test_releasing_a_key_that_never_held_closes_it_to_stragglers(books: Books, asked_before: bool) -> None:
    await books.budget("session:s1", limit_tokens=100, mode="hard")
    if asked_before:
        await books.ask("k", 101)
    await books.ledger.release(TENANT, key="k")
    await books.budget("session:s1", limit_tokens=1_000)
    with pytest.raises(HoldClosed, match="key 'k' was released before it held anything") as closed:
        await books.ask("k", 101)
    assert closed.value.state == "released"
    with pytest.raises(NotFound):
        await books.settle((await books.ledger.release(TENANT, key="k")).hold_id, 1)
    assert await books.balance() == {}


async def test_a_closed_hold_starts_and_extends_nothing(books: Books) -> None:
    hold_id = await books.hold("k", 100)
    await books.ledger.release(TENANT, hold_id=hold_id)
    with pytest.raises(HoldClosed, match="is released: hold again under another key"):
        await books.ledger.start_attempt(TENANT, hold_id)
    with pytest.raises(HoldClosed, match="is released: it cannot be extended"):
        await books.ledger.extend(TENANT, hold_id, Amount(1))


async def test_a_hold_expires_one_instant_after_lease_and_grace(books: Books) -> None:
    books.at(NOW)
    answer = await books.ask("k", 100)
    assert answer.expires_at == NOW + LEASE
    books.at(NOW + LEASE + GRACE)
    assert await books.ledger.sweep() == 0
    books.at(NOW + LEASE + GRACE + timedelta(microseconds=1))
    assert await books.ledger.sweep() == 1
    assert await books.ledger.sweep() == 0
    assert await books.balance() == {}
    assert await books.entries() == ["hold", "expire"]
    again = await books.ask("k", 100)
    assert (again.state, again.hold_id, again.repeated) == (HoldState.EXPIRED, answer.hold_id, True)


async def test_a_lease_is_renewed_by_attempts_and_extensions_and_never_gets_shorter(books: Books) -> None:
    books.at(NOW)
    hold_id = await books.hold("k", 100, lease_ms=60_000)
    later = NOW + timedelta(seconds=50)
    books.at(later)
    assert (await books.ledger.extend(TENANT, hold_id)).expires_at == later + timedelta(seconds=60)
    assert (await books.ledger.extend(TENANT, hold_id, lease_ms=1)).expires_at == later + timedelta(seconds=60)
    assert (await books.ledger.extend(TENANT, hold_id, lease_ms=90_000)).expires_at == later + timedelta(seconds=90)
    last = NOW + timedelta(seconds=135)
    books.at(last)
    started = await books.ledger.start_attempt(TENANT, hold_id, 1)
    assert started.expires_at == last + timedelta(seconds=60)


async def test_a_hold_past_its_lease_lives_until_a_sweep_ends_it(books: Books) -> None:
    books.at(NOW)
    hold_id = await books.hold("k", 100)
    books.at(NOW + timedelta(days=1))
    assert (await books.ledger.start_attempt(TENANT, hold_id, 1)).started
    assert await books.ledger.sweep() == 0


async def test_an_extension_adds_through_the_gate_or_not_at_all(books: Books) -> None:
    await books.budget("session:s1", limit_tokens=150, mode="hard")
    hold_id = await books.hold("k", 100)
    fits = await books.ledger.extend(TENANT, hold_id, Amount(50, 5))
    assert (fits.extended, fits.amount) == (True, Amount(150, 5))
    short = await books.ledger.extend(TENANT, hold_id, Amount(1))
    assert (short.extended, short.amount) == (False, Amount(1)), "what did not fit"
    # Only the hold itself is in the way: waiting would not help.
    assert short.gate is not None
    assert short.gate.verdict is Verdict.REFUSE
    assert (await books.balance(), await books.money()) == ({"held": 150}, {"held": 5})
    assert await books.entries() == ["hold", "top_up"]


async def test_sweeps_in_parts_end_everything(books: Books) -> None:
    books.at(NOW)
    for number in range(5):
        await books.hold(f"k{number}", 10)
    books.at(NOW + timedelta(days=1))
    assert [await books.ledger.sweep(limit=2) for _ in range(4)] == [2, 2, 1, 0]
    assert await books.balance() == {}


# --- the caller's transaction ----------------------------------------------------------------------------------------


async def test_verbs_join_the_transaction_of_their_caller(books: Books, pool: Pool) -> None:
    first = await books.hold("first", 100)
    other = await books.hold("other", 100)
    before = await books.rows(), await books.balance()
    async with pool.acquire() as own:
        transaction = own.transaction()
        await transaction.start()
        await books.ledger.hold(TENANT, request("k", 5, 0, *SESSION), own)
        await books.ledger.start_attempt(TENANT, first, 1, own)
        await books.ledger.extend(TENANT, first, Amount(50), connection=own)
        await books.ledger.settle(TENANT, first, 1, report(400), connection=own)
        await books.ledger.release(TENANT, hold_id=other, connection=own)
        await books.ledger.release(TENANT, key="never", connection=own)
        await transaction.rollback()
    assert (await books.rows(), await books.balance()) == before
    async with pool.acquire() as own, own.transaction():
        await books.ledger.settle(TENANT, first, 1, report(90), connection=own)
    assert await books.balance() == {"spent": 90, "held": 100}


async def test_the_id_of_a_lost_hold_is_given_to_no_other(books: Books, pool: Pool) -> None:
    """After a restore, or a failover to a standby without the last commits, the sequence goes on from before."""
    await books.hold("first", 1)
    number = await pool.fetchval("select last_value from hold_numbers")
    async with pool.acquire() as own:
        transaction = own.transaction()
        await transaction.start()
        lost = [(await books.ledger.hold(TENANT, request(f"lost{n}", 100), own)).hold_id for n in range(3)]
        await transaction.rollback()
    await pool.execute("select setval('hold_numbers', $1)", number)
    async with pool.acquire() as own:
        await books.ledger.hold(TENANT, request("alone", 5), own)
    await books.hold("in a batch", 5)
    await books.ledger.release(TENANT, key="closed unused")
    for hold_id in lost:
        assert hold_id is not None
        with pytest.raises(NotFound):
            await books.settle(hold_id, 90)
    assert await books.balance() == {"held": 11}
