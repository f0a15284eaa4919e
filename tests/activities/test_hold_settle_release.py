"""The activities `hold`, `settle` and `release`, called from any workflow."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from purser.activities.hold import Hold
from purser.activities.release import Release
from purser.activities.settle import Settle
from purser.budget.errors import HoldClosed, MoneyNeeded, UnknownPrice
from purser.budget.policies import PolicyPatch
from purser.budget.postgres.connections.pools import Pool
from purser.budget.postgres.ledger.holds import Holds
from purser.budget.postgres.ledger.ledger import Ledger
from purser.budget.postgres.ledger.policies import Policies
from purser.budget.postgres.ledger.pricing import Pricing
from purser.budget.postgres.ledger.settings import LedgerSettings
from purser.budget.postgres.reports.usage import UsageReports
from purser.budget.pricing.call_prices import Unpriced
from purser.budget.pricing.price_book import PriceBook
from purser.budget.reports.usage import By
from purser.budget.scopes import Scope
from purser.context.postgres.sessions.payers import Payers
from purser.workflows.contract import HoldInput, ReleaseInput, SettleInput
from tests.support.actors import TESTER

TENANT = "acme"
PATH = ("session:s1", "task:t1")


@pytest.fixture
def settings() -> LedgerSettings:
    return LedgerSettings(backpressure=())


AROUND_NOW = datetime.now(UTC) - timedelta(hours=1), datetime.now(UTC) + timedelta(hours=1)


@pytest.fixture
def ledger(pool: Pool, settings: LedgerSettings) -> Ledger:
    return Ledger(pool, settings)


@pytest.fixture
def policies(pool: Pool, settings: LedgerSettings) -> Policies:
    return Policies(pool, settings)


@pytest.fixture
def unpriced() -> list[Unpriced]:
    """Outcomes of calls without a price."""
    return []


@pytest.fixture
def pricing(ledger: Ledger, pool: Pool, unpriced: list[Unpriced]) -> Pricing:
    return Pricing(PriceBook.load(), ledger, Holds(pool), unpriced.append)


@pytest.fixture
def verdicts() -> list[tuple[str, str]]:
    """Verdicts of the gate and their reasons."""
    return []


@pytest.fixture
def hold(ledger: Ledger, pricing: Pricing, pool: Pool, verdicts: list[tuple[str, str]]) -> Callable[..., Any]:
    return Hold(
        ledger,
        Payers(pool),
        pricing,
        lambda answer: verdicts.append((answer.verdict, answer.decisive.reason)),
    ).hold


@pytest.fixture
def settle(pricing: Pricing) -> Callable[..., Any]:
    return Settle(pricing).settle


async def test_a_hold_is_settled_at_what_was_used(hold: Any, settle: Any) -> None:
    held = await hold(HoldInput(TENANT, "k1", PATH, 1_000))
    assert (held.verdict, held.tokens, held.short) == ("allow", 1_000, None)
    report = SettleInput(TENANT, held.hold_id, 1, input=300, cache_read=100, output=50, nano_usd=7)
    for _ in range(2):
        settled = await settle(report)
        assert (settled.state, settled.tokens, settled.nano_usd, settled.late) == ("settled", 450, 7, False)


async def test_a_total_of_unknown_split_is_charged_too(hold: Any, settle: Any) -> None:
    held = await hold(HoldInput(TENANT, "k1", PATH, 100))
    settled = await settle(SettleInput(TENANT, held.hold_id, 1, output=10, total=120))
    assert (settled.tokens, settled.overrun_tokens) == (120, 20)


async def test_a_hold_that_does_not_fit_says_where_and_why(hold: Any, policies: Policies) -> None:
    await policies.set(
        TENANT, Scope.parse("task:t1"), PolicyPatch.parse({"limit_tokens": 10, "mode": "hard"}), by=TESTER
    )
    refused = await hold(HoldInput(TENANT, "k1", PATH, 100))
    assert (refused.verdict, refused.hold_id) == ("refuse", "")
    assert (refused.short.scope, refused.short.reason) == ("task:t1", "limit")
    part = await hold(HoldInput(TENANT, "k2", PATH, 100, min_tokens=5))
    assert (part.verdict, part.tokens) == ("warn", 10)


async def test_where_money_is_limited_a_hold_needs_an_amount_or_a_price(
    hold: Any, policies: Policies, verdicts: list[tuple[str, str]]
) -> None:
    scope = Scope.parse("task:t1")
    await policies.set(TENANT, scope, PolicyPatch.parse({"limit_nano_usd": 10**9, "mode": "hard"}), by=TESTER)
    with pytest.raises(UnknownPrice):
        await hold(HoldInput(TENANT, "k1", PATH, 100, model="nobody-knows"))
    with pytest.raises(MoneyNeeded, match="task:t1"):
        await hold(HoldInput(TENANT, "k1", PATH, 100))
    assert verdicts == [("refuse", "unknown_price")] * 2
    # gpt-4o charges at most $10 a million tokens.
    assert (await hold(HoldInput(TENANT, "k1", PATH, 100, model="gpt-4o"))).nano_usd == 1_000_000
    for key, stated in (("k2", 5), ("k3", 0)):
        assert (await hold(HoldInput(TENANT, key, PATH, 100, nano_usd=stated))).nano_usd == stated


async def test_a_report_is_priced_by_the_model_of_its_hold_unless_it_states_money(hold: Any, settle: Any) -> None:
    for key, stated, charged in (("k1", None, 150 * 150 + 30 * 600), ("k2", 7, 7), ("k3", 0, 0)):
        held = await hold(HoldInput(TENANT, key, PATH, 1_000, model="gpt-4o-mini"))
        report = SettleInput(TENANT, held.hold_id, 1, input=150, output=30, nano_usd=stated)
        assert (await settle(report)).nano_usd == charged, "gpt-4o-mini: $0.15 and $0.60 a million tokens"


@pytest.mark.parametrize("model", ["nobody-knows", ""])
async def test_a_report_without_a_price_is_counted_and_shown_where_nothing_limits_money(
    hold: Any, settle: Any, unpriced: list[Unpriced], pool: Pool, model: str
) -> None:
    held = await hold(HoldInput(TENANT, "k1", PATH, 1_000, model=model))
    assert (await settle(SettleInput(TENANT, held.hold_id, 1, output=30))).nano_usd == 0
    assert unpriced == [Unpriced.FREE]
    report = await UsageReports(pool).report(TENANT, By.MODEL, *AROUND_NOW)
    assert [(line.id, line.attempts, line.unpriced_attempts) for line in report.lines] == [(model, 1, 1)]


async def test_a_report_without_a_price_is_refused_where_money_is_limited(
    hold: Any, settle: Any, policies: Policies, unpriced: list[Unpriced]
) -> None:
    held = await hold(HoldInput(TENANT, "k1", PATH, 1_000, model="nobody-knows", nano_usd=5))
    await policies.set(TENANT, Scope.parse("task:t1"), PolicyPatch.parse({"limit_nano_usd": 10**9}), by=TESTER)
    with pytest.raises(UnknownPrice):
        await settle(SettleInput(TENANT, held.hold_id, 1, output=30))
    assert unpriced == [Unpriced.REFUSED]
    assert (await settle(SettleInput(TENANT, held.hold_id, 1, output=30, nano_usd=4))).nano_usd == 4


async def test_what_used_nothing_needs_no_price(
    hold: Any, settle: Any, policies: Policies, unpriced: list[Unpriced]
) -> None:
    held = await hold(HoldInput(TENANT, "k1", PATH, 1_000, nano_usd=5))
    await policies.set(TENANT, Scope.parse("task:t1"), PolicyPatch.parse({"limit_nano_usd": 10**9}), by=TESTER)
    assert (await settle(SettleInput(TENANT, held.hold_id, 1))).nano_usd == 0
    assert unpriced == []


async def test_a_report_without_a_price_is_charged_what_its_hold_asked_for(
    hold: Any, settle: Any, unpriced: list[Unpriced]
) -> None:
    held = await hold(HoldInput(TENANT, "k1", PATH, 1_000, nano_usd=5))
    for _ in range(2):
        assert (await settle(SettleInput(TENANT, held.hold_id, 1, output=30))).nano_usd == 5
    assert unpriced == [Unpriced.ESTIMATED] * 2


async def test_a_released_key_cannot_hold_any_more(hold: Any, ledger: Ledger) -> None:
    released = await Release(ledger).release(ReleaseInput(TENANT, "k1"))
    assert released.state == "released"
    with pytest.raises(HoldClosed):
        await hold(HoldInput(TENANT, "k1", PATH, 100))
