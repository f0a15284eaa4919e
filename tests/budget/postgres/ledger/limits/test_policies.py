"""Stored policies: limits that change while they are in use, and how budgets show them."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from purser.budget.gate import Amount, Verdict
from purser.budget.policies.fields import Mode
from purser.budget.policies.policy import Policy, PolicyPatch
from purser.budget.postgres.connections.pools import Pool
from purser.budget.scopes import Kind, Scope
from purser.budget.windows import Window
from tests.support.actors import TESTER
from tests.support.ledger import TENANT, Books

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
SESSION = Scope.parse("session:s1")


# --- limits that change while they are used --------------------------------------------------------------------------


async def test_lowering_a_limit_blocks_what_is_new_and_lets_live_holds_finish(books: Books) -> None:
    await books.budget("session:s1", limit_tokens=1_000, mode="hard")
    live = await books.hold("live", 800)
    await books.budget("session:s1", limit_tokens=500)
    assert not (await books.ask("new", 1, patient=False)).hold_id
    await books.ledger.start_attempt(TENANT, live, 1)
    assert (await books.settle(live, 700)).overrun.tokens == 0
    await books.budget("session:s1", limit_tokens=701)
    assert (await books.ask("fits", 1)).hold_id
    assert await books.entries() == ["hold", "limit_lowered", "settle", "limit_raised", "hold"]


async def test_each_change_of_a_budget_in_use_is_an_entry_that_says_what_changed(books: Books, pool: Pool) -> None:
    await books.budget("session:s1", limit_tokens=1_000, mode="hard")
    await books.hold("k", 1)
    for patch in (
        {"limit_tokens": 1_000},
        {"limit_tokens": 999},
        {"limit_nano_usd": 5},
        {"limit_nano_usd": 6},
        {"limit_tokens": 1_001, "limit_nano_usd": 1},
        {"mode": "soft"},
        {"warn_at": [0.5]},
    ):
        await books.budget("session:s1", **patch)
    await books.budget("session:s1", clear=["limit_nano_usd"])
    assert await books.entries() == [
        "hold", "limit_lowered", "limit_lowered", "limit_raised", "limit_lowered", "mode_changed", "limit_raised",
    ]  # fmt: skip
    assert {row["ref"] for row in await pool.fetch("select ref from entries where kind <> 'hold'")} == {"test"}


async def test_raised_or_lowered_is_judged_by_the_stored_policy_not_by_what_one_task_asked_for(books: Books) -> None:
    await books.budget("session:s1", limit_tokens=1_000, mode="hard")
    await books.budget("session:s1", task="t1", limit_tokens=500)
    await books.hold("k", 1, 0, "session:s1", "task:t1")
    await books.budget("session:s1", limit_tokens=900)
    assert await books.entries() == ["hold", "limit_lowered"]


@pytest.mark.parametrize(
    ("path", "patch", "entries"),
    [
        (["user:u1"], {"limit_tokens": 900}, ["hold", "limit_lowered"]),
        (["user:u1"], {"limit_tokens": 1_000}, ["hold"]),
        (["user:u1", "task:t1"], {"limit_tokens": 1_000}, ["hold"]),  # t1 asks for 500
        (["user:u1", "task:t2"], {"limit_tokens": 900}, ["hold", "limit_lowered"]),  # t2 asks for no limit
    ],
)
async def test_a_balance_whose_window_comes_back_gets_an_entry_of_what_changed_meanwhile(
    books: Books, path: list[str], patch: dict[str, int], entries: list[str]
) -> None:
    await books.budget("user:u1", limit_tokens=1_000, mode="hard")
    if "task:t1" in path:
        await books.budget("user:u1", task="t1", limit_tokens=500)
    await books.budget("user:u1", task="t2", warn_at=[0.5])
    await books.hold("k", 1, 0, *path)
    for change in ({"window": "day"}, patch, {"window": "lifetime"}):
        await books.budget("user:u1", **change)
    assert await books.entries("user:u1") == entries


@pytest.mark.parametrize("granted", [0, 500])
async def test_a_balance_that_held_nothing_gets_no_entry_of_a_limit_when_its_window_comes_back(
    books: Books, granted: int
) -> None:
    await books.budget("session:s1", limit_tokens=1_000, mode="hard")
    assert not (await books.ask("k", 1_001)).hold_id
    if granted:
        await books.grant("session:s1", granted)
    for window in ("day", "lifetime"):
        await books.budget("session:s1", window=window)
    assert await books.entries() == ["grant"] * bool(granted)


async def test_a_hard_mode_switched_on_over_the_limit_is_no_overspend(books: Books) -> None:
    await books.budget("session:s1", limit_tokens=100, mode="soft")
    await books.spend("k", 500)
    await books.budget("session:s1", mode="hard")
    assert not (await books.ask("new", 1)).hold_id
    assert await books.entries() == ["hold", "settle", "mode_changed"]


async def test_freezing_stops_new_asks_and_top_ups_and_lets_live_holds_settle(books: Books) -> None:
    live = await books.hold("live", 100)
    await books.budget("session:s1", frozen=True)
    answer = await books.ask("new", 1)
    assert (answer.gate.verdict, answer.gate.decisive.reason) == (Verdict.REFUSE, "frozen")
    assert not (await books.ledger.extend(TENANT, live, Amount(1))).extended
    await books.settle(live, 60)
    await books.budget("session:s1", frozen=False)
    assert (await books.ask("new", 1)).hold_id


# --- views -----------------------------------------------------------------------------------------------------------


async def test_an_unused_budget_shows_its_default_and_its_window(pool: Pool) -> None:
    daily = Policy(limit_tokens=9, window=Window.DAY, timezone="Europe/Berlin")
    books = Books.on(pool, defaults=dict.fromkeys(Kind, daily), sources={"task.limit_tokens": "environment"})
    books.at(datetime(2026, 11, 20, 23, 30, tzinfo=UTC))
    view = await books.policies.budget(TENANT, Scope.parse("task:t1"))
    assert (view.policy, view.spent.tokens, view.ratio) == (daily, 0, 0.0)
    assert (view.window_start, view.window_end) == (NOW.replace(hour=23), NOW.replace(day=21, hour=23))
    assert (view.sources["limit_tokens"], view.sources["mode"]) == ("environment", "default")


async def test_a_budget_shows_the_source_of_each_field_as_its_task_sees_it(books: Books) -> None:
    await books.budget("session:s1", limit_tokens=1_000)
    requested = (SESSION, PolicyPatch(limit_tokens=500, mode=Mode.HARD), {"mode": "governed"})
    async with books.pool.acquire() as own:
        await books.policies.set_many(TENANT, [requested], by=TESTER, task_id="t1", connection=own)
    seen = (await books.policies.budgets_of(TENANT, [SESSION], task_id="t1"))[0]
    assert (seen.policy.limit_tokens, seen.policy.mode) == (500, "hard")
    assert (seen.sources["limit_tokens"], seen.sources["mode"], seen.sources["window"]) == (
        "request",
        "governed",
        "default",
    )
    other = (await books.policies.budgets_of(TENANT, [SESSION], task_id="t2"))[0]
    assert (other.policy.limit_tokens, other.policy.mode) == (1_000, "soft")


async def test_budgets_are_listed_by_kind_and_by_how_full_they_are_page_by_page(books: Books) -> None:
    for number in range(5):
        await books.budget(f"task:t{number}", limit_tokens=100)
        await books.spend(f"k{number}", 20 * number, 0, "session:s1", f"task:t{number}") if number else None
    everything, cursor = await books.policies.budgets(TENANT)
    assert (len(everything), cursor) == (6, None)
    full, _ = await books.policies.budgets(TENANT, over=Decimal("0.4"))
    assert [str(view.scope) for view in full] == ["task:t2", "task:t3", "task:t4"]
    assert [str(view.scope) for view in (await books.policies.budgets(TENANT, kind=Kind.SESSION))[0]] == ["session:s1"]
    seen, cursor = [], 0
    while cursor is not None:
        page, cursor = await books.policies.budgets(TENANT, after=cursor, limit=2)
        seen += [view.scope for view in page]
    assert seen == [view.scope for view in everything]
    assert await books.policies.budgets("other") == ([], None)


async def test_a_full_budget_is_judged_without_grants_that_have_ended(books: Books) -> None:
    books.at(NOW)
    await books.budget("session:s1", limit_tokens=100)
    await books.spend("k", 90)
    await books.grant("session:s1", 100, until=NOW + timedelta(minutes=1))
    assert (await books.policies.budgets(TENANT, over=Decimal("0.9")))[0] == []
    books.at(NOW + timedelta(minutes=1))
    assert [view.ratio for view in (await books.policies.budgets(TENANT, over=Decimal("0.9")))[0]] == [0.9]
