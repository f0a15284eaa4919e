"""`purser reconcile`: a provider's file beside the ledger, from the command line."""

from datetime import timedelta
from pathlib import Path

from purser.budget.postgres.audit.retention import LEAST
from purser.budget.postgres.connections.pools import create_pool
from tests.budget.postgres.audit.history import START, close_all, forget
from tests.support.ledger import TENANT, Books
from tests.support.servers.commands import Commands

LINES = "request_id,model,input_tokens,output_tokens\nreq_1,gpt-4o,90,10\n"


async def test_calls_that_nobody_held_are_exit_code_1(tmp_path: Path, dsn: str) -> None:
    purser, file = Commands.at(tmp_path, dsn=dsn), tmp_path / "usage.csv"
    file.write_text(LINES)
    shown = purser.run("reconcile", str(file))
    assert shown.returncode == 1
    assert "Calls that nobody held: 1 of 1." in shown.stdout
    assert "Beyond the ledger: gpt-4o req_1: provider 100, ledger 0 tokens" in shown.stdout
    file.write_text(LINES.replace("90,10", "0,0"))
    found = purser.json("reconcile", str(file), code=1)
    assert (found["format"], found["purser_provider_calls_unguarded"]) == ("requests", 1)
    async with await create_pool(dsn, size=2) as pool:
        books = Books.on(pool)
        hold_id = await books.hold("a", 100, model="openai/gpt-4o")
        await books.settle(hold_id, 100)
    file.write_text(LINES.replace("req_1", f"{hold_id}-1"))
    for tenants, code in (((), 1), (("--tenant", "other", "--tenant", TENANT), 0), (("--all-tenants",), 0)):
        found = purser.json("reconcile", str(file), *tenants, code=code)
        assert found["purser_provider_calls_unguarded"] == code


def test_tenants_are_named_or_all(tmp_path: Path) -> None:
    refused = Commands.at(tmp_path).json("reconcile", "usage.csv", "--tenant", TENANT, "--all-tenants", code=2)
    assert "not both" in refused["detail"]


async def test_days_that_retention_has_deleted_are_a_note(tmp_path: Path, dsn: str) -> None:
    async with await create_pool(dsn, size=2) as pool:
        books = Books.on(pool)
        books.at(START)
        await books.spend("old", 100)
        await close_all(pool, 100)
        await forget(pool, START + LEAST + timedelta(hours=1))
    purser, file = Commands.at(tmp_path, dsn=dsn), tmp_path / "usage.csv"
    header, old = "request_id,timestamp,model,input_tokens,output_tokens", f"req_1,{START.date()},gpt-4o,90,10"
    file.write_text(f"{header}\n{old}\nreq_2,{START.date() + timedelta(days=1)},gpt-4o,40,10\n")
    shown = purser.run("reconcile", str(file), "--tenant", TENANT).stdout
    assert "Calls that nobody held: 1 of 1." in shown
    note = "Retention has deleted entries; the ledger is complete after 2027-11-20T12:00:00+00:00."
    assert f"{note} Lines not compared: 1." in " ".join(shown.split())
    file.write_text(f"{header}\n{old}\n")
    refused = purser.json("reconcile", str(file), "--tenant", TENANT, code=1)
    assert "complete after 2027-11-20T12:00:00+00:00" in refused["detail"]


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert "none.csv' cannot be read" in Commands.at(tmp_path).json("reconcile", "none.csv", code=1)["detail"]


def test_an_unknown_file_is_a_problem_that_names_its_columns(tmp_path: Path) -> None:
    file = tmp_path / "usage.csv"
    file.write_text("date,cost\n2026-11-20,3.50\n")
    assert (
        "cost, date are of no known usage file" in Commands.at(tmp_path).json("reconcile", str(file), code=1)["detail"]
    )
