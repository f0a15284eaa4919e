"""The window of a budget is that of its balance, by the time zone data of Postgres alone."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from purser.budget.policies.policy import Policy
from purser.budget.postgres.ledger.policies import Policies
from purser.budget.postgres.ledger.settings import LedgerSettings
from purser.budget.scopes import Kind, Scope
from purser.budget.windows import Window
from tests.support.ledger import TENANT, Books

ZONES = ["America/Vancouver", "Europe/Berlin", "Asia/Kolkata", "UTC"]
"""Of Vancouver the tables of several years say different things about November 2026."""
MOMENTS = [datetime(2026, 11, 22, 7, 30, tzinfo=UTC), datetime(2026, 10, 25, 12, tzinfo=UTC)]


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("window", [Window.HOUR, Window.DAY, Window.WEEK, Window.MONTH])
@pytest.mark.parametrize("now", MOMENTS)
async def test_the_end_that_is_shown_is_where_the_next_window_begins(
    books: Books, zone: str, window: Window, now: datetime
) -> None:
    books.at(now)
    await books.budget("session:s1", limit_tokens=10, window=window, timezone=zone)
    used = await books.policies.budget(TENANT, Scope.parse("session:s1"))
    plain = Policy(window=window, timezone=zone)
    unused = Policies(books.pool, replace(LedgerSettings(), defaults=dict.fromkeys(Kind, plain)), now=now)
    assert (used.window_start, used.window_end) == await _bounds(unused)
    assert used.window_end is not None
    books.at(used.window_end)
    following = await books.policies.budget(TENANT, Scope.parse("session:s1"))
    assert following.window_start == used.window_end
    books.at(used.window_end - timedelta(microseconds=1))
    assert (await books.policies.budget(TENANT, Scope.parse("session:s1"))).window_start == used.window_start


async def _bounds(policies: Policies) -> tuple[datetime | None, datetime | None]:
    shown = await policies.budget(TENANT, Scope.parse("session:never"))
    return shown.window_start, shown.window_end


async def test_a_lifetime_has_no_bounds(books: Books) -> None:
    assert await _bounds(books.policies) == (None, None)
