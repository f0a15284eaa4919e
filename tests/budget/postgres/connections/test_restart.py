"""The ledger after a restart of a real Postgres."""

import os
import signal
from pathlib import Path

import pytest

from purser.budget.gate import Verdict
from purser.budget.postgres.connections.pools import create_pool
from purser.budget.scopes import Scope
from purser.compose.migrate import migrate
from purser.compose.stack.postgres import EmbeddedPostgres
from tests.support.ledger import TENANT, Books

TASK = ("session:s1", "task:t1", "agent:t1/a1")


@pytest.mark.stack
@pytest.mark.parametrize("end", ["stopped", "killed"])
async def test_at_990_of_1000_a_restart_changes_nothing(tmp_path: Path, end: str) -> None:
    server = EmbeddedPostgres(tmp_path / "data")
    dsn = await server.start()
    try:
        await migrate(dsn)
        async with await create_pool(dsn) as pool:
            books = Books.on(pool)
            await books.budget("session:s1", limit_tokens=1_000, mode="hard")
            await books.budget("task:t1", limit_tokens=1_000)
            await books.spend("spent", 900, 0, *TASK)
            open_hold = await books.hold("open", 90, 0, *TASK)
            await books.ledger.start_attempt(TENANT, open_hold, 1)
        if end == "killed":
            os.kill(int((tmp_path / "data" / "postmaster.pid").read_text().split()[0]), signal.SIGQUIT)
        server.stop()
        dsn = await server.start()

        async with await create_pool(dsn) as pool:
            books = Books.on(pool)
            assert await books.balance() == {"spent": 900, "held": 90}
            large = await books.ask("large", 100, 0, *TASK, patient=False)
            assert (large.gate.verdict, str(large.gate.decisive.scope)) == (Verdict.REFUSE, "session:s1")
            assert (await books.ask("small", 10, 0, *TASK)).hold_id is not None
            assert (await books.ask("open", 90, 0, *TASK)).hold_id == open_hold
            await books.settle(open_hold, 80)
            second = await books.ask("second task", 10, 0, "session:s1", "task:t2")
            assert second.hold_id is not None
            spent = await books.policies.budgets_of(TENANT, [Scope.parse("task:t1"), Scope.parse("task:t2")])
            assert [view.spent.tokens for view in spent] == [980, 0]
            assert [view.held.tokens for view in spent] == [10, 10]
            await books.check()
    finally:
        server.stop()
