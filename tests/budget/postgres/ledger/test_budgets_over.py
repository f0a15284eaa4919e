"""The budgets above a ratio, of which few are resolved among many."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from purser.budget.policies.policy import Policy
from purser.budget.postgres.connections.pools import Pool
from purser.budget.reports.views import BudgetView
from purser.budget.scopes import Kind
from tests.support.ledger import TENANT, Books
from tests.support.rows_read import rows_read

DAY = datetime(2026, 11, 20, 12, tzinfo=UTC)
DEFAULTS: dict[str, Any] = {
    "defaults": {kind: Policy(limit_tokens=100 if kind is Kind.TASK else None) for kind in Kind}
}
SCOPES = 3_000
FILL = f"""
insert into scopes (tenant, kind, id) select '{TENANT}', 'task', 't' || n from generate_series(1, {SCOPES}) n;
insert into balances (tenant, scope_id, window_start, spent_tokens, seq, updated_at)
    select tenant, scope_id, '-infinity', case when id like '%000' then 98 else 1 end, 1, now() from scopes;
"""


@pytest.mark.parametrize("over", ["0", "0.5", "0.95", "1", "1.5"])
async def test_they_are_those_of_all_budgets_whose_ratio_is_as_large_wherever_their_limit_comes_from(
    pool: Pool, over: str
) -> None:
    books = Books.on(pool, **DEFAULTS)
    books.at(DAY - timedelta(days=1))
    await books.budget("session:daily", limit_tokens=100, window="day", mode="soft")
    await books.spend("yesterday", 99, 0, "session:daily")
    books.at(DAY)
    await books.budget("session:money", limit_nano_usd=1_000)
    await books.budget("session:none", limit_tokens=0)
    await books.budget("session:stored@day", limit_tokens=98)
    await books.budget("session:granted", limit_tokens=100, mode="approval")
    await books.budget("task:asked", task="asked", limit_tokens=60)
    for scope, tokens, nano in (
        ("session:daily", 10, 0),
        ("session:money", 1, 990),
        ("session:stored", 97, 0),
        ("session:unlimited", 10_000, 10_000),
        ("session:granted", 99, 0),
        ("task:asked", 59, 0),
        ("task:default", 96, 0),
        ("task:low", 5, 0),
    ):
        await books.spend(scope, tokens, nano, scope)
    await books.grant("session:granted", 900, until=DAY + timedelta(minutes=1))
    await books.hold("held", 4, 0, "task:default")
    for now in (DAY, DAY + timedelta(hours=1)):
        books.at(now)
        everything, _ = await books.policies.budgets(TENANT)
        found, _ = await books.policies.budgets(TENANT, over=Decimal(over))
        assert [view.scope for view in found] == [view.scope for view in everything if reaches(view, Decimal(over))]
        one, cursor = await books.policies.budgets(TENANT, over=Decimal(over), limit=1)
        assert (one, cursor is not None) == (found[:1], bool(found))


async def test_those_below_are_not_resolved(counting_pool: Pool) -> None:
    books = Books.on(counting_pool, **DEFAULTS)
    await counting_pool.execute(FILL)
    await counting_pool.execute("analyze")
    before = await rows_read(counting_pool, "scopes", "balances")
    found, _ = await books.policies.budgets(TENANT, over=Decimal("0.95"))
    after = await rows_read(counting_pool, "scopes", "balances")
    assert [str(view.scope) for view in found] == ["task:t1000", "task:t2000", "task:t3000"]
    assert {table: rows for table in after if (rows := after[table] - before[table]) > 1.1 * SCOPES} == {}


def reaches(view: BudgetView, over: Decimal) -> bool:
    policy, taken = view.policy, view.spent + view.held
    return any(
        limit is not None and used >= over * (limit + granted)
        for limit, used, granted in (
            (policy.limit_tokens, taken.tokens, view.granted.tokens),
            (policy.limit_nano_usd, taken.nano_usd, view.granted.nano_usd),
        )
    )
