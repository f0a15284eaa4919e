"""The benchmark of the ledger: one short run of each load, and the bare batch beside it."""

import pytest

from purser.benchmarks import ledger
from purser.benchmarks.ledger import ASK, USED, Load, measure
from purser.benchmarks.ledger.bare_batch import BareLedger
from purser.budget.postgres.connections.pools import Pool


@pytest.fixture(autouse=True)
def short_first_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "WARM_S", 0)


@pytest.mark.stack
async def test_a_short_run_of_each_load_ends_with_a_ledger_that_agrees(dsn: str) -> None:
    runs = await measure(dsn, 10, 0.1, batched=True, connections=2, loads=list(Load))
    assert [(run.load, run.gate_passed, run.pairs > 0) for run in runs] == [(load, True, True) for load in Load]


@pytest.mark.stack
async def test_calls_are_spread_over_sessions(dsn: str, pool: Pool) -> None:
    [run] = await measure(dsn, 10, 0.1, batched=True, connections=2, sessions=3)
    assert (run.sessions, run.gate_passed) == (3, True)
    spent = (
        "select count(*) from balances join scopes using (tenant, scope_id) where kind = 'session' and spent_tokens > 0"
    )
    assert await pool.fetchval(spent) == 3


async def test_the_bare_batch_charges_what_was_used_on_every_scope(pool: Pool) -> None:
    bare = BareLedger(pool)
    await bare.prepare()
    for number in range(3):
        await bare.pair(f"k{number}", ASK.tokens, USED)
    assert await bare.spent() == {(3 * USED, 0)}
    await pool.execute("update bare_balances set spent = spent + 1 where scope_id = 1")
    assert await bare.spent() == {(3 * USED, 0), (3 * USED + 1, 0)}
