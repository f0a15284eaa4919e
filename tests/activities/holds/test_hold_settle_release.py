"""The activities `hold`, `settle` and `release`, called from any workflow."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from purser.activities.calls.side_calls import SideCalls
from purser.activities.holds.hold import Hold
from purser.activities.holds.release import Release
from purser.activities.holds.settle import Settle
from purser.activities.runtime.inputs import decoding
from purser.budget.errors import HoldClosed, InvalidRequest, InvalidScope, InvalidUsage, MoneyNeeded, UnknownPrice
from purser.budget.gate import Amount
from purser.budget.holds import HoldRequest
from purser.budget.policies.policy import PolicyPatch
from purser.budget.postgres.audit.audit import audit
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
from purser.budget.scopes import Path, Scope, payers
from purser.budget.usage import Usage
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


async def test_the_process_that_held_and_any_other_charge_the_same_price(
    hold: Any, settle: Any, ledger: Ledger, pool: Pool
) -> None:
    elsewhere = Settle(Pricing(PriceBook.load(), ledger, Holds(pool))).settle
    charged = []
    for key, by in (("k1", settle), ("k2", elsewhere)):
        held = await hold(HoldInput(TENANT, key, PATH, 1_000, model="gpt-4o"))
        charged.append((await by(SettleInput(TENANT, held.hold_id, 1, input=300, output=50))).nano_usd)
    assert charged[0] == charged[1] > 0


async def test_a_total_of_unknown_split_is_charged_too(hold: Any, settle: Any) -> None:
    held = await hold(HoldInput(TENANT, "k1", PATH, 100))
    settled = await settle(SettleInput(TENANT, held.hold_id, 1, output=10, total=120))
    assert (settled.tokens, settled.overrun_tokens) == (120, 20)


@pytest.mark.parametrize(
    "report",
    [{}, {"prompt_tokens": 100}, {"total_tokens": 100}, {"total": None}, {"prompt_tokens": 100, "nano_usd": 5}],
)
async def test_a_report_in_json_without_a_figure_that_is_known_is_no_report_of_nothing(
    hold: Any, settle: Any, report: dict[str, Any]
) -> None:
    held = await hold(HoldInput(TENANT, "k1", PATH, 100))
    step = {"tenant": TENANT, "hold_id": held.hold_id, "attempt": 1}
    with pytest.raises(InvalidRequest, match=r"usage has no known figure: state input, .* or total"):
        await decoding(settle)(step | report)
    assert (await decoding(settle)(step | {"total": 100})).tokens == 100


@pytest.mark.parametrize("report", [{"total": 0}, {"input": 0}, {"nano_usd": 7}])
async def test_a_report_in_json_of_nothing_or_of_money_alone_is_settled(
    hold: Any, settle: Any, report: dict[str, Any]
) -> None:
    held = await hold(HoldInput(TENANT, "k1", PATH, 100))
    settled = await decoding(settle)({"tenant": TENANT, "hold_id": held.hold_id, "attempt": 1} | report)
    assert (settled.tokens, settled.nano_usd) == (0, report.get("nano_usd", 0))


async def test_figures_are_read_by_the_rule_of_the_http_api(hold: Any, settle: Any) -> None:
    """A contradiction never lowers a charge: a total below its parts does not count."""
    held = await hold(HoldInput(TENANT, "k1", PATH, 2_000))
    for wrong in ({"total": -3}, {"total": 1.9}, {"output": -1}, {"total": 10**12 + 1}):
        with pytest.raises(InvalidUsage):
            await settle(SettleInput(TENANT, held.hold_id, 1, **wrong))
    assert (await settle(SettleInput(TENANT, held.hold_id, 1, input=1_000, total=500))).tokens == 1_000


async def test_a_path_of_another_tenant_does_not_escape_the_tenants_own_budget(hold: Any, policies: Policies) -> None:
    await policies.set(
        TENANT, Scope.parse(f"tenant:{TENANT}"), PolicyPatch.parse({"limit_tokens": 10, "mode": "hard"}), by=TESTER
    )
    with pytest.raises(InvalidScope, match=r"'tenant:other' is another tenant: leave it out, or name tenant:acme"):
        await hold(HoldInput(TENANT, "k1", ("tenant:other", *PATH), 100))
    assert (await hold(HoldInput(TENANT, "k1", (f"tenant:{TENANT}", *PATH), 100))).verdict == "refuse"


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


@pytest.mark.parametrize(("tenant", "key"), [("", "k1"), (TENANT, ""), (TENANT, "k" * 257), ("a/b", "k1")])
async def test_a_release_that_names_no_key_is_refused(ledger: Ledger, tenant: str, key: str) -> None:
    with pytest.raises(InvalidRequest, match="is not valid: use 1 to"):
        await Release(ledger).release(ReleaseInput(tenant, key))


@pytest.mark.parametrize("scope", ["tenant:acme", "tag:team=search"])
async def test_200_callers_of_tasks_holds_and_compressions_never_pass_a_limit_that_they_share(
    pool: Pool, ledger: Ledger, policies: Policies, pricing: Pricing, scope: str
) -> None:
    await policies.set(
        TENANT, Scope.parse(scope), PolicyPatch.parse({"limit_tokens": 10_000, "mode": "hard"}), by=TESTER
    )
    holds, side = Hold(ledger, Payers(pool), pricing), SideCalls("gpt-4o", ledger, PriceBook.load())
    tags = (Scope.parse("tag:team=search"),)

    async def caller(number: int) -> str | None:
        user, session, task = f"u{number % 3}", f"s{number % 2}", f"t{number % 7}"
        own = (f"user:{user}", f"session:{session}", f"task:{task}", f"agent:{task}/parent", f"agent:{task}/sub")
        path = replace(Path.parse(own).below(*payers(TENANT, user)), tags=tags)
        if number % 4 == 0:
            asked = HoldInput(TENANT, f"k{number}", own[:2], 300, model="gpt-4o", patient=False, tags=("team=search",))
            return (await holds.hold(asked)).hold_id or None
        if number % 4 == 1:
            if (call := await side.hold(TENANT, f"k{number}", path, 200, 100)) is None:
                return None
            await call.start(asyncio.sleep(0))
            return call.hold_id
        request = HoldRequest(f"k{number}", path, Amount(300), model="gpt-4o", patient=False)
        if number % 4 == 2:
            return (await ledger.hold(TENANT, request)).hold_id
        async with pool.acquire() as connection, connection.transaction():
            return (await ledger.hold(TENANT, request, connection)).hold_id

    async def settled(number: int) -> bool:
        hold_id = await caller(number)
        if hold_id is not None and number % 3:
            await pricing.settle(TENANT, hold_id, 1, Usage(input=200), None)
        return hold_id is not None

    admitted = sum(await asyncio.gather(*map(settled, range(200))))
    highest = await pool.fetchval(
        "select max(e.spent_tokens + e.held_tokens) from entries e join scopes s using (tenant, scope_id)"
        " where s.kind || ':' || s.id = $1",
        scope,
    )
    assert 33 <= admitted < 200
    assert 9_700 < highest <= 10_000
    found = await audit(pool)
    assert found.ok, found.differences
