"""The audit finds what was tampered with, each kind by the check that is there for it."""

import json

import asyncpg
import pytest

from budget.postgres.audit import audit
from budget.postgres.connection import Pool
from tests.support.ledger import TENANT, Books, request

TASK = ("session:s1", "task:t1")


@pytest.fixture
async def sound(pool: Pool) -> Pool:
    """A ledger with everything in it: holds in every state, overrun, a late charge, a grant, an approval."""
    books = Books.on(pool)
    await books.budget("session:s1", limit_tokens=1_000, limit_nano_usd=1_000, mode="hard")
    await books.spend("settled", 100, 10, *TASK)
    await books.settle(await books.hold("overrun", 100, 10, *TASK), 120, 12)
    late = await books.hold("late", 100, 10, *TASK)
    await books.ledger.start_attempt(TENANT, late, 1)
    await books.ledger.release(TENANT, hold_id=late)
    await books.settle(late, 90, 9)
    await books.hold("open", 50, 5, *TASK)
    await books.ask("refused", 5_000, 0, *TASK)
    await books.ledger.release(TENANT, key="closed")
    await pool.execute(
        "insert into approvals (approval_id, tenant, scope_id, window_start, state, asked_tokens, asked_nano, rules,"
        " granted_tokens, granted_nano, created_at, deadline, decided_at)"
        " select 'a1', tenant, scope_id, '-infinity', 'approved', 70, 7, '{}', 70, 7, now(), now(), now()"
        " from scopes where kind = 'session'"
    )
    await pool.execute(
        "select ledger_grant(scope_id, '-infinity', 70, 7, null, 'a1', 'd1', 'boss', now())"
        " from scopes where kind = 'session'"
    )
    found = await audit(pool)
    assert found.ok, found.differences
    return pool


async def tamper(pool: Pool, sql: str) -> set[str]:
    """Checks that find a difference after `sql` went round the ledger."""
    async with pool.acquire() as own, own.transaction():
        await own.execute("set local session_replication_role = replica")
        await own.execute(sql)
    found = await audit(pool)
    json.dumps(found.to_json())
    return {str(difference["check"]) for difference in found.differences}


FIRST = "(select min(entry_id) from entries where kind = 'hold')"
ONE_HOLD = "(select hold_id from holds where key = 'settled')"


@pytest.mark.parametrize(
    ("check", "sql"),
    [
        *(
            ("balances", f"update balances set {column} = {column} + 1")
            for column in ("spent_tokens", "held_nano", "granted_tokens", "overrun_nano", "seq")
        ),
        ("balances", "delete from entries where entry_id = (select max(entry_id) from entries)"),
        ("balances", "delete from grants"),
        ("balances", "update holds set tokens = tokens + 1 where state = 'held'"),
        ("entries_without_balance", "update entries set scope_id = 999 where kind = 'grant'"),
        ("chain", f"delete from entries where entry_id = {FIRST}"),
        ("chain", f"update entries set d_held_tokens = d_held_tokens + 1 where entry_id = {FIRST}"),
        ("chain", f"update entries set held_nano = held_nano + 1 where entry_id = {FIRST}"),
        ("chain", "update entries set seq = seq + 1 where kind = 'grant'"),
        ("overspend", f"update entries set limit_tokens = 99 where entry_id = {FIRST}"),
        ("overspend", f"update entries set limit_nano = 9 where entry_id = {FIRST}"),
        ("paths", f"delete from entries where entry_id = {FIRST}"),
        ("paths", "update holds set scope_ids = scope_ids[1:1], window_starts = window_starts[1:1] where key = 'open'"),
        ("charges", f"delete from holds where hold_id = {ONE_HOLD}"),
        ("charges", f"update entries set hold_id = 1 + hold_id where hold_id = {ONE_HOLD}"),
        (
            "charges",  # ten tokens charged to another hold: every sum of a scope stays what it was
            "update holds set charged_tokens = charged_tokens + case key when 'late' then 10 else -10 end"
            " where key in ('late', 'settled');"
            "update attempts a set tokens = a.tokens + case h.key when 'late' then 10 else -10 end"
            " from holds h where h.hold_id = a.hold_id and h.key in ('late', 'settled')",
        ),
        ("charges", f"update entries set hold_id = null where hold_id = {ONE_HOLD}"),
        ("charges", "update attempts set overrun_tokens = overrun_tokens + 1"),
        ("holds", "update attempts set tokens = tokens + 1"),
        ("holds", "update attempts set state = 'started'"),
        ("holds", "delete from attempts"),
        ("holds", f"update holds set state = 'released' where hold_id = {ONE_HOLD}"),
        ("holds", f"update holds set ended_at = null where hold_id = {ONE_HOLD}"),
        ("holds", "update holds set state = 'expired' where key = 'closed'"),
        ("holds", f"update entries set kind = 'overrun' where entry_id = {FIRST}"),
        ("grants", "insert into grants (scope_id, window_start, tokens, nano, granted_by, created_at)"
                   " select scope_id, window_start, 5, 5, 'nobody', now() from balances limit 1"),
        ("grants", "update grants set ended_at = now()"),
        ("grants", "select ledger_grant(scope_id, '-infinity', 70, 7, null, 'a1', 'd1', 'boss', now()) from grants"),
        ("grants", "update approvals set granted_tokens = 0"),
        ("limits", "update balances set limit_tokens = limit_tokens + 1 where limit_tokens is not null"),
        ("limits", "update balances set mode = 'approval'"),
        ("limits", f"update entries set limit_tokens = 5000 where entry_id = {FIRST}"),
        ("limits", "update entries set mode = 'soft' where kind = 'settle' and mode = 'hard'"),
        ("attempts", "update attempts set state = 'presumed' where state = 'reported'"),
        ("attempts", "update attempts set usage = usage || '{\"input\": 1}'"),
        ("reports", "update attempts set usage = usage || jsonb_build_object('input', 0, 'output', usage -> 'input')"),
        ("policies", "update policies set limit_tokens = 999999"),
        ("policies", "update policies set mode = 'soft'"),
    ],
)  # fmt: skip
async def test_tampering_is_found(sound: Pool, check: str, sql: str) -> None:
    assert check in await tamper(sound, sql)


async def test_a_difference_names_the_scope_the_window_and_the_figures(sound: Pool) -> None:
    await sound.execute(
        "update balances set held_tokens = 77 where scope_id = (select scope_id from scopes where id = 't1')"
    )
    (difference,) = (await audit(sound)).differences
    assert difference == {
        "check": "balances",
        "what": "a balance differs from its entries or from the holds, attempts and grants behind it",
        "tenant": TENANT,
        "scope": "task:t1",
        "window_start": "-infinity",
        "name": "held_tokens",
        "balance": 77,
        "entries": 50,
        "rows": 50,
    }


async def test_the_audit_counts_what_it_checked(sound: Pool) -> None:
    checked = (await audit(sound)).checked
    assert (checked["holds"], checked["attempts"], checked["grants"], checked["balances"]) == (6, 3, 1, 2)
    assert checked["entries"] == await sound.fetchval("select count(*) from entries")


async def test_an_audit_stops_nobody_and_sees_one_moment(sound: Pool) -> None:
    books = Books.on(sound)
    async with sound.acquire() as own, own.transaction():
        await books.ledger.hold(TENANT, request("during", 10, 1, *TASK), own)
        assert (await audit(sound)).ok
    assert (await audit(sound)).ok


@pytest.mark.parametrize("sql", ["update entries set ref = 'x'", "delete from entries"])
async def test_entries_cannot_be_changed_or_removed(sound: Pool, sql: str) -> None:
    with pytest.raises(asyncpg.RaiseError, match="append-only: write a correction instead"):
        await sound.execute(sql)
