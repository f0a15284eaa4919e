"""What a request for approval reads while many calls wait for it."""

import pytest

from purser.budget.gate import Amount
from purser.budget.policies.policy import PolicyPatch
from purser.budget.postgres.connections.pools import Pool
from purser.budget.scopes import Scope
from tests.support.actors import TESTER
from tests.support.approvals import NOW, TENANT, open_desk
from tests.support.rows_read import rows_read

WAITING = 200
TABLES = (
    "scopes", "policies", "policy_templates", "balances", "holds", "approvals", "approval_waiters", "events",
)  # fmt: skip
FEW = 50
"""Rows that an operation may read besides each waiter once."""


@pytest.mark.proof
async def test_joining_leaving_and_sweeping_read_each_waiter_once_and_policies_not_for_each(
    counting_pool: Pool,
) -> None:
    async with open_desk(counting_pool) as desk:
        for number in range(WAITING):  # of a small table any plan reads all rows
            other = Scope.parse(f"session:other{number}")
            await desk.policies.set(TENANT, other, PolicyPatch.parse({"limit_tokens": 1_000}), by=TESTER)
        for number in range(WAITING):
            ticket = await desk.ask(f"k{number}", 500, f"t{number}")
        await counting_pool.execute("analyze")
        await desk.hold("last", 500, "last")

        before = await rows_read(counting_pool, *TABLES)
        assert (await desk.request("last", 500, "last")).approval_id == ticket.approval_id
        joined = await rows_read(counting_pool, *TABLES)
        await desk.approvals.withdraw(TENANT, "last")
        left = await rows_read(counting_pool, *TABLES)
        assert await desk.approvals.expire_due() == 0
        swept = await rows_read(counting_pool, *TABLES)

        for start, end in ((before, joined), (joined, left), (left, swept)):
            read = {table: end[table] - start[table] for table in end}
            waiters = {read.pop("approval_waiters"), read.pop("holds")}
            assert max(waiters) < WAITING + FEW, waiters
            assert {table: rows for table, rows in read.items() if rows > 5 * WAITING} == {}
        assert (await desk.approvals.get(TENANT, ticket.approval_id)).waiting == Amount(500 * WAITING)


async def test_the_end_of_a_request_reads_few_of_the_entries_since_it_was_opened(counting_pool: Pool) -> None:
    async with open_desk(counting_pool) as desk:
        await desk.policy(approval={"on_expiry": "grant"})
        ticket = await desk.ask("k1", 500)
        request = await desk.approvals.get(TENANT, ticket.approval_id)
        before = await rows_read(counting_pool, "journal", "postings")
        async with counting_pool.acquire() as own:
            transaction = own.transaction()
            await transaction.start()
            await own.execute(
                "insert into journal (tenant, at, kind, scope_ids, window_starts, seqs)"
                " select tenant, at + interval '1 minute', kind, scope_ids, window_starts, seqs"
                " from journal, generate_series(1, 3000) where kind = 'settle'"
            )
            await own.execute("analyze journal")
            assert (await desk.approvals._at_deadline(own, TENANT, request, NOW)).grant == Amount(400)
            await transaction.rollback()
        read = await rows_read(counting_pool, "journal", "postings")
        assert {table: rows for table, rows in read.items() if rows - before[table] > FEW} == {}
