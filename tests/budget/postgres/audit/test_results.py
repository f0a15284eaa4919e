"""The stored result of the last audit, and which process runs the next one."""

import asyncio
from datetime import UTC, datetime, timedelta

from purser.budget.postgres.audit.audit import Audit
from purser.budget.postgres.audit.results import LEASE, MOST_EXAMPLES, AuditResults, AuditRun
from purser.budget.postgres.connections.pools import Pool

DAY = timedelta(days=1)
NOW = datetime(2026, 3, 1, tzinfo=UTC)


async def test_an_audit_is_due_a_period_after_the_last_one_and_one_of_many_runs_it(pool: Pool) -> None:
    results = AuditResults(pool, now=NOW)
    assert await results.last() is None
    assert sorted(await asyncio.gather(*(results.claim(DAY) for _ in range(8)))) == [False] * 7 + [True]
    await results.store(AuditRun.of(Audit({"entries": 3}, (), NOW), 1.5, "purser"))
    results.now = NOW + DAY - timedelta(seconds=1)
    assert not await results.claim(DAY), "not due yet"
    results.now = NOW + DAY
    assert await results.claim(DAY)


async def test_an_audit_whose_end_is_in_the_future_delays_no_other(pool: Pool) -> None:
    results = AuditResults(pool, now=NOW)
    await results.store(AuditRun.of(Audit({}, (), NOW + 30 * DAY), 1.5, "purser"))
    assert await results.claim(DAY)


async def test_an_audit_that_never_ended_is_run_by_another_process_once_its_claim_is_over(pool: Pool) -> None:
    results = AuditResults(pool, now=NOW)
    assert await results.claim(DAY)
    results.now = NOW + LEASE
    assert not await results.claim(DAY), "its process may still run it"
    results.now = NOW + LEASE + timedelta(seconds=1)
    assert await results.claim(DAY)
    await results.renew()
    assert not await results.claim(DAY), "a running audit renews its claim"


async def test_the_result_says_when_how_long_by_whom_and_the_first_differences(pool: Pool) -> None:
    found = Audit({"balances": 2}, tuple({"check": "chain", "scope": n} for n in range(MOST_EXAMPLES + 1)), NOW)
    run = AuditRun.of(found, 2.5, "ada")
    assert (run.differences, len(run.examples)) == (MOST_EXAMPLES + 1, MOST_EXAMPLES)
    results = AuditResults(pool)
    await results.store(run)
    assert await results.last() == run
