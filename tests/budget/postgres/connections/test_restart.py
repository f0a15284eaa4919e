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


@pytest.mark.stack
async def test_at_990_of_1000_a_restart_changes_nothing(tmp_path: Path) -> None:
    server = EmbeddedPostgres(tmp_path / "data")
    dsn = await server.start()
    try:
        await migrate(dsn)
        for end in ("stopped", "killed"):
            session, task = f"session:{end}", f"task:{end}"
            path = (session, task, f"agent:{end}/a1")
            async with await create_pool(dsn) as pool:
                books = Books.on(pool)
                await books.budget(session, limit_tokens=1_000, mode="hard")
                await books.budget(task, limit_tokens=1_000)
                await books.spend(f"{end} spent", 900, 0, *path)
                open_hold = await books.hold(f"{end} open", 90, 0, *path)
                await books.ledger.start_attempt(TENANT, open_hold, 1)
            if end == "killed":
                os.kill(int((tmp_path / "data" / "postmaster.pid").read_text().split()[0]), signal.SIGQUIT)
            server.stop()
            dsn = await server.start()

            async with await create_pool(dsn) as pool:
                books = Books.on(pool)
                assert await books.balance(session) == {"spent": 900, "held": 90}, end
                large = await books.ask(f"{end} large", 100, 0, *path, patient=False)
                assert (large.gate.verdict, str(large.gate.decisive.scope)) == (Verdict.REFUSE, session), end
                assert (await books.ask(f"{end} small", 10, 0, *path)).hold_id is not None, end
                assert (await books.ask(f"{end} open", 90, 0, *path)).hold_id == open_hold, end
                await books.settle(open_hold, 80)
                second = await books.ask(f"{end} second task", 10, 0, session, f"{task}2")
                assert second.hold_id is not None, end
                spent = await books.policies.budgets_of(TENANT, [Scope.parse(task), Scope.parse(f"{task}2")])
                assert [view.spent.tokens for view in spent] == [980, 0], end
                assert [view.held.tokens for view in spent] == [10, 10], end
                await books.check()
    finally:
        server.stop()
