"""`purser audit`: with the stack up, with it down, and on an inconsistent ledger."""

import json
from pathlib import Path

import asyncpg
import httpx
import pytest

from tests.support.servers.clients import PATIENCE_S
from tests.support.servers.commands import Commands
from tests.support.servers.forked import Forks
from tests.support.servers.purser import processes_naming

HOLD = {"key": "k1", "path": ["session:s1", "task:t1"], "tokens": 100}


@pytest.mark.proof
def test_it_agrees_with_the_stack_up_and_down_and_leaves_nothing_running(tmp_path: Path, forks: Forks) -> None:
    purser, data = forks.purser(tmp_path, metrics_port="0"), str(tmp_path / "data")
    with purser.up("--data", data, "--port", "0") as started:
        headers = {"Authorization": f"Bearer {started.ready['admin_key']}"}
        assert (
            httpx.post(
                f"{started.ready['gateway']}/v1/holds", json=HOLD, headers=headers, timeout=PATIENCE_S
            ).status_code
            == 200
        )
        up = purser.json("audit")
    assert (up["ok"], up["differences"]) == (True, [])
    assert up["checked"]["holds"] == 1
    again = Commands(purser.home, purser.env)
    assert again.json("audit") == up, "down, on the directory of the last up"
    assert again.json("audit", "--data", data) == up
    assert "Everything agrees" in again.run("audit").stdout
    assert processes_naming(tmp_path) == []


async def test_a_balance_that_its_entries_do_not_add_up_to_is_exit_code_1(tmp_path: Path, dsn: str) -> None:
    purser = Commands.at(tmp_path, dsn=dsn)
    assert purser.json("audit")["ok"]
    connection = await asyncpg.connect(dsn)
    await connection.execute("insert into scopes (tenant, kind, id) values ('default', 'session', 's1')")
    columns = "tenant, scope_id, window_start, spent_tokens, updated_at"
    await connection.execute(
        f"insert into balances ({columns}) select tenant, scope_id, '-infinity', 5, now() from scopes"
    )
    await connection.close()
    found = purser.json("audit", code=1)
    assert not found["ok"]
    assert found["differences"][0]["check"] == "balances"
    shown = purser.run("audit")
    assert shown.returncode == 1
    assert "differs from its entries" in shown.stdout


async def test_a_replica_is_audited_without_storing_the_result(tmp_path: Path, dsn: str) -> None:
    purser = Commands.at(tmp_path, dsn=f"{dsn}{'&' if '?' in dsn else '?'}default_transaction_read_only=on")
    done = purser.run("audit", "--json")
    assert (done.returncode, json.loads(done.stdout)["ok"]) == (0, True), done.stderr
    assert "read only" in done.stderr
    connection = await asyncpg.connect(dsn)
    assert await connection.fetchval("select count(*) from audit_result where ended_at is not null") == 0
    await connection.close()


def test_without_a_database_it_says_where_it_looked(tmp_path: Path) -> None:
    problem = Commands.at(tmp_path).json("audit", "--data", str(tmp_path / "nothing"), code=1)
    assert str(tmp_path / "nothing") in problem["detail"]


def test_a_database_without_our_schema_is_a_problem(tmp_path: Path, postgres_server: str) -> None:
    problem = Commands.at(tmp_path, dsn=postgres_server).json("audit", code=1)
    assert "purser migrate" in problem["remedy"]
