"""Hold, settle and release as activities of their own."""

from collections.abc import Callable
from typing import Any

import pytest

from activities.hold import Hold
from activities.release import Release
from activities.settle import Settle
from budget.errors import HoldClosed, UnknownPrice
from budget.policies import PolicyPatch
from budget.postgres.connection import Pool
from budget.postgres.ledger import Ledger
from budget.postgres.policies import Policies
from budget.postgres.settings import LedgerSettings
from budget.prices import PriceBook
from budget.scopes import Scope
from workflows.contract import HoldInput, ReleaseInput, SettleInput

TENANT = "acme"
PATH = ("session:s1", "task:t1")


@pytest.fixture
def settings() -> LedgerSettings:
    return LedgerSettings(backpressure=())


@pytest.fixture
def ledger(pool: Pool, settings: LedgerSettings) -> Ledger:
    return Ledger(pool, settings)


@pytest.fixture
def policies(pool: Pool, settings: LedgerSettings) -> Policies:
    return Policies(pool, settings)


@pytest.fixture
def hold(ledger: Ledger, policies: Policies) -> Callable[..., Any]:
    return Hold(ledger, policies, PriceBook.load()).hold


async def test_a_hold_is_settled_at_what_was_used(hold: Any, ledger: Ledger) -> None:
    held = await hold(HoldInput(TENANT, "k1", PATH, 1_000))
    assert (held.verdict, held.tokens, held.short) == ("allow", 1_000, None)
    report = SettleInput(TENANT, held.hold_id, 1, input=300, cache_read=100, output=50, nano_usd=7)
    for _ in range(2):
        settled = await Settle(ledger).settle(report)
        assert (settled.state, settled.tokens, settled.nano_usd, settled.late) == ("settled", 450, 7, False)


async def test_a_total_of_unknown_split_is_charged_too(hold: Any, ledger: Ledger) -> None:
    held = await hold(HoldInput(TENANT, "k1", PATH, 100))
    settled = await Settle(ledger).settle(SettleInput(TENANT, held.hold_id, 1, output=10, total=120))
    assert (settled.tokens, settled.overrun_tokens) == (120, 20)


async def test_a_hold_that_does_not_fit_says_where_and_why(hold: Any, policies: Policies) -> None:
    await policies.set(TENANT, Scope.parse("task:t1"), PolicyPatch.parse({"limit_tokens": 10, "mode": "hard"}), by="me")
    refused = await hold(HoldInput(TENANT, "k1", PATH, 100))
    assert (refused.verdict, refused.hold_id) == ("refuse", "")
    assert (refused.short.scope, refused.short.reason) == ("task:t1", "limit")
    part = await hold(HoldInput(TENANT, "k2", PATH, 100, min_tokens=5))
    assert (part.verdict, part.tokens) == ("warn", 10)


async def test_where_money_is_limited_a_hold_needs_an_amount_or_a_price(hold: Any, policies: Policies) -> None:
    scope = Scope.parse("task:t1")
    await policies.set(TENANT, scope, PolicyPatch.parse({"limit_nano_usd": 10**9, "mode": "hard"}), by="me")
    with pytest.raises(UnknownPrice):
        await hold(HoldInput(TENANT, "k1", PATH, 100, model="nobody-knows"))
    # gpt-4o charges at most $10 a million tokens.
    assert (await hold(HoldInput(TENANT, "k2", PATH, 100, model="gpt-4o"))).nano_usd == 1_000_000
    assert (await hold(HoldInput(TENANT, "k3", PATH, 100, nano_usd=5))).nano_usd == 5


async def test_a_released_key_cannot_hold_any_more(hold: Any, ledger: Ledger) -> None:
    released = await Release(ledger).release(ReleaseInput(TENANT, "k1"))
    assert released.state == "released"
    with pytest.raises(HoldClosed):
        await hold(HoldInput(TENANT, "k1", PATH, 100))
