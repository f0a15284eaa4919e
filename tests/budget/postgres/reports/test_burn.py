"""Burn rates: which samples are taken and kept, and the forecasts from them."""

import asyncio
import random
from datetime import UTC, datetime, timedelta

import pytest

from purser.budget.policies.fields import Mode
from purser.budget.postgres.reports.burn import Burn, Exhausting
from purser.budget.reports.forecast import Basis, Forecast
from purser.budget.scopes import Kind, Scope
from tests.support.ledger import TENANT, Books

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
S1 = Scope(Kind.SESSION, "s1")


class Clock:
    """Lets time pass for a ledger and its sampler, which looks once a minute."""

    def __init__(self, books: Books, burn: Burn) -> None:
        self.books, self.burn, self.now, self._calls = books, burn, NOON, 0
        books.at(NOON)

    async def spend(self, tokens: int, nano: int = 0, *path: str) -> None:
        self._calls += 1
        await self.books.spend(f"k{self._calls}", tokens, nano, *path)

    async def go(self, span: timedelta, *, every: timedelta = MINUTE, tokens: int = 0, nano: int = 0) -> None:
        """Goes on by `span`, spending after each `every` and then sampling."""
        end = self.now + span
        while self.now < end:
            self.now += every
            self.books.at(self.now)
            if tokens or nano:
                await self.spend(tokens, nano)
            await self.burn.sample()

    def skip(self, span: timedelta) -> None:
        """Advances the clock by `span` without sampling."""
        self.now += span
        self.books.at(self.now)

    async def forecast(self, scope: Scope = S1) -> Forecast:
        return (await self.burn.forecasts(TENANT, [scope]))[scope]


@pytest.fixture
async def burn(books: Books) -> Burn:
    return Burn(books.pool, books.policies)


@pytest.fixture
async def clock(books: Books, burn: Burn) -> Clock:
    return Clock(books, burn)


async def samples(books: Books) -> list[tuple[datetime, int]]:
    rows = await books.pool.fetch("select at, spent_tokens from balance_samples order by at, spent_tokens")
    return [(row["at"], row["spent_tokens"]) for row in rows]


async def test_an_unused_scope_has_too_short_a_history(clock: Clock) -> None:
    assert await clock.forecast() == Forecast(None, None, None, Basis.TOO_SHORT)


async def test_the_first_minute_is_too_short_and_then_the_rate_counts_from_the_first_entry(clock: Clock) -> None:
    await clock.books.budget("session:s1", limit_tokens=1_000)
    await clock.spend(100, 7)
    clock.skip(timedelta(seconds=59))
    assert (await clock.forecast()).basis is Basis.TOO_SHORT
    clock.skip(timedelta(seconds=61))
    assert await clock.forecast() == Forecast(3_000, 210, clock.now + 18 * MINUTE, Basis.SINCE_FIRST)


async def test_the_last_hour_counts_when_it_is_faster_than_the_day(clock: Clock) -> None:
    await clock.books.budget("session:s1", limit_tokens=2_000)
    await clock.spend(10)
    await clock.go(3 * HOUR, every=5 * MINUTE)
    await clock.go(HOUR, every=5 * MINUTE, tokens=50)
    assert await clock.forecast() == Forecast(600, 0, clock.now + timedelta(minutes=139), Basis.HOUR)


async def test_the_day_counts_when_it_is_faster_than_the_last_hour(clock: Clock) -> None:
    await clock.spend(1)
    await clock.go(24 * HOUR, every=HOUR, tokens=100)
    await clock.go(HOUR, every=5 * MINUTE)
    found = await clock.forecast()
    assert (found.tokens_per_hour, found.basis) == (96, Basis.DAY)


async def test_what_happened_before_a_long_rest_is_no_rate(clock: Clock) -> None:
    await clock.spend(100_000)
    await clock.go(30 * MINUTE)
    await clock.go(40 * HOUR, every=HOUR)
    await clock.spend(12)
    await clock.go(10 * MINUTE)
    found = await clock.forecast()
    assert (found.tokens_per_hour, found.basis) == (12, Basis.HOUR)


async def test_a_gap_in_the_samples_is_filled_evenly(clock: Clock) -> None:
    await clock.spend(0 + 1)
    await clock.go(2 * MINUTE)
    await clock.spend(99)
    clock.skip(10 * HOUR)  # no sampler: 100 of these went before it came back
    await clock.spend(1_000)
    await clock.go(MINUTE)
    found = await clock.forecast()
    assert found.tokens_per_hour is not None
    assert 100 <= found.tokens_per_hour <= 110


async def test_held_tokens_are_no_rate_and_no_headroom(clock: Clock) -> None:
    await clock.books.budget("session:s1", limit_tokens=1_000)
    await clock.spend(100)
    await clock.books.hold("open", 800)
    clock.skip(HOUR)
    assert await clock.forecast() == Forecast(100, 0, clock.now + HOUR, Basis.HOUR)


async def test_money_that_runs_out_first_is_what_counts(clock: Clock) -> None:
    await clock.books.budget("session:s1", limit_tokens=1_000, limit_nano_usd=400)
    await clock.spend(100, 100)
    clock.skip(HOUR)
    assert (await clock.forecast()).exhausts_at == clock.now + 3 * HOUR


async def test_a_window_that_renews_before_is_not_exhausted(clock: Clock) -> None:
    await clock.books.budget("session:s1", limit_tokens=1_000, window="day", timezone="UTC")
    await clock.spend(50)
    clock.skip(HOUR)
    assert (await clock.forecast()).exhausts_at is None
    await clock.spend(800)
    assert (await clock.forecast()).exhausts_at is not None


async def test_quiet_balances_are_sampled_once(clock: Clock) -> None:
    await clock.spend(10)
    await clock.go(3 * HOUR, every=5 * MINUTE)
    assert await samples(clock.books) == [(NOON, 0), (NOON + 5 * MINUTE, 10)]


async def test_busy_balances_are_sampled_every_few_minutes(clock: Clock) -> None:
    await clock.go(30 * MINUTE, tokens=1)
    assert [at - NOON for at, _ in await samples(clock.books)] == [MINUTE * each for each in (1, 6, 11, 16, 21, 26)]


async def test_a_day_later_only_what_a_rate_needs_is_left(clock: Clock) -> None:
    await clock.go(2 * HOUR, every=5 * MINUTE, tokens=1)
    await clock.go(30 * HOUR, every=10 * MINUTE)
    assert await samples(clock.books) == [(NOON + 2 * HOUR, 24)]


async def test_only_one_process_samples_at_a_time(books: Books, burn: Burn) -> None:
    await books.spend("k", 10)
    assert sorted(await asyncio.gather(*(Burn(books.pool, books.policies).sample() for _ in range(5))))[:4] == [0] * 4
    assert len(await samples(books)) == 2


async def test_sampling_goes_through_all_balances_in_batches(
    books: Books, burn: Burn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("purser.budget.postgres.reports.burn.BATCH", 3)
    for number in range(10):
        await books.spend(f"k{number}", 1, 0, f"session:s{number}")
    assert await burn.sample() == 20


async def test_another_tenant_sees_no_rate(clock: Clock) -> None:
    await clock.spend(100)
    clock.skip(HOUR)
    assert (await clock.burn.forecasts("other", [S1]))[S1] == Forecast()


async def test_scopes_that_run_out_soon_are_counted_by_kind_and_mode(clock: Clock) -> None:
    for name, limit, mode in (
        ("soon", 150, "hard"),
        ("later", 500, "hard"),
        ("never", 100_000, "hard"),
        ("out", 100, "soft"),
    ):
        await clock.books.budget(f"session:{name}", limit_tokens=limit, mode=mode)
        await clock.spend(100, 0, f"session:{name}", f"task:{name}")
    await clock.go(HOUR, every=HOUR)
    assert await clock.burn.exhausting() == [Exhausting(Kind.SESSION, Mode.HARD, 1, 2)]
    soon, later = Scope(Kind.SESSION, "soon"), Scope(Kind.SESSION, "later")
    assert await clock.burn.soon(TENANT, 24 * HOUR, None, "", 10) == [soon, later]
    assert await clock.burn.soon(TENANT, HOUR, Kind.SESSION, "", 10) == [soon]
    assert await clock.burn.soon(TENANT, 24 * HOUR, None, "LATE", 10) == [later]
    assert await clock.burn.soon(TENANT, 24 * HOUR, None, "", 1) == [soon]
    assert await clock.burn.soon(TENANT, 24 * HOUR, Kind.TASK, "", 10) == []
    assert await clock.burn.soon("other", 24 * HOUR, None, "", 10) == []


async def test_what_rested_for_an_hour_does_not_run_out(clock: Clock) -> None:
    await clock.books.budget("session:s1", limit_tokens=1_000, mode="hard")
    await clock.go(HOUR, every=5 * MINUTE, tokens=50)
    assert (await clock.forecast()).exhausts_at is not None
    assert await clock.burn.exhausting() == [Exhausting(Kind.SESSION, Mode.HARD, 1, 1)]
    await clock.go(HOUR + 10 * MINUTE, every=5 * MINUTE)
    found = await clock.forecast()
    assert (found.tokens_per_hour, found.exhausts_at) == (288, None), "the rate of the day is still shown"
    assert await clock.burn.exhausting() == []


async def test_frozen_and_ended_scopes_and_policies_in_shadow_do_not_run_out(clock: Clock) -> None:
    for task in ("frozen", "ended", "tried", "running"):
        await clock.books.budget(f"task:{task}", limit_tokens=1_000, mode="hard")
        await clock.spend(500, 0, f"task:{task}")
    clock.skip(30 * MINUTE)
    await clock.burn.sample()
    assert await clock.burn.exhausting() == [Exhausting(Kind.TASK, Mode.HARD, 4, 4)]
    await clock.books.budget("task:frozen", frozen=True)
    await clock.books.budget("task:tried", shadow=True)
    await clock.books.ledger.end_scopes(TENANT, [Scope(Kind.TASK, "ended")])
    assert await clock.burn.exhausting() == [Exhausting(Kind.TASK, Mode.HARD, 1, 1)]
    assert (await clock.forecast(Scope(Kind.TASK, "frozen"))).exhausts_at is None
    assert (await clock.forecast(Scope(Kind.TASK, "running"))).exhausts_at is not None


async def test_the_rule_and_the_statement_for_all_scopes_agree(clock: Clock, seed: int) -> None:
    dice = random.Random(seed)
    scopes = [Scope(Kind.SESSION, f"s{number}") for number in range(12)]
    for scope in scopes:
        tokens, nano = dice.choice([None, 300, 2_000, 20_000]), dice.choice([None, 500])
        window = dice.choice(["lifetime", "hour", "day", "week", "month"])
        await clock.books.budget(
            str(scope), limit_tokens=tokens, limit_nano_usd=nano, mode="soft", window=window, timezone="Europe/Berlin"
        )
    for _ in range(40):
        for scope in dice.sample(scopes, 3):
            await clock.spend(dice.randrange(1, 60), dice.randrange(20), str(scope))
        if dice.random() < 0.8:
            await clock.burn.sample()
        clock.skip(timedelta(seconds=dice.choice([20, 300, 1_800, 7_200])))
    for scope in dice.sample(scopes, 6):
        await clock.spend(dice.randrange(1, 60), 0, str(scope))
    clock.skip(MINUTE)
    await clock.burn.sample()
    # Samples are what both know: the statement for all scopes does not look at entries.
    within = [0, 0]
    forecasts = await clock.burn.forecasts(TENANT, scopes)
    for budget in await clock.books.policies.budgets_of(TENANT, scopes):
        rooms = [room for room in (budget.headroom_tokens, budget.headroom_nano_usd) if room is not None]
        end = forecasts[budget.scope].exhausts_at
        if end is not None and all(room > 0 for room in rooms):
            within[0] += end <= clock.now + HOUR
            within[1] += end <= clock.now + 24 * HOUR
    found = await clock.burn.exhausting()
    assert [[one.within_hour, one.within_day] for one in found] == [within] * any(within)
