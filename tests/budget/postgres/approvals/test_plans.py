"""What a request for approval reads while many calls wait for it."""

from purser.budget.gate import Amount
from purser.budget.policies.policy import PolicyPatch
from purser.budget.postgres.connections.pools import Pool
from purser.budget.scopes import Scope
from tests.support.actors import TESTER
from tests.support.approvals import TENANT, open_desk
from tests.support.rows_read import rows_read

WAITING = 200
TABLES = (
    "scopes", "policies", "policy_templates", "balances", "holds", "approvals", "approval_waiters", "events",
)  # fmt: skip
FEW = 50
"""Rows that an operation may read besides each waiter once."""


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
