"""The audit finds tampering in a ledger whose oldest part was deleted: closings, their record, and what is left."""

from collections.abc import AsyncIterator

import pytest

from purser.budget.postgres.audit.audit import audit
from purser.budget.postgres.connections.pools import Pool
from tests.budget.postgres.audit.history import History, close_all, forget
from tests.budget.postgres.audit.tampering import made, tamper

BALANCE = [f"{part}_{unit}" for part in ("spent", "held", "granted", "overrun") for unit in ("tokens", "nano")]
BASES = [f"{part}_{unit}" for part in ("rolled", "gone") for unit in ("tokens", "nano")]
MOVED = [f"d_{part}_{unit}" for part in ("spent", "held", "overrun") for unit in ("tokens", "nano")]
RECORDED = ("checkpoint_id", "last_number", "presumed", "late", "expired")
ONE = "where ctid = (select min(ctid) from {})"
USED = "where (scope_id, window_start) = (select scope_id, window_start from closings {} order by seq desc limit 1)"
ROLLING = USED.format("where rolling_length(window_start) is not null")
GRANTED = USED.format("where grants_made > 0")
FIRST = "(select min(number) from journal)"
STRADDLES = "(select hold_id from carried_events where kind = 'hold' limit 1)"
LAST_RANGE = "(select max(checkpoint_id) from closed_ranges)"
FORGED = f"""
update closed_ranges set total = closings_total() where checkpoint_id = {LAST_RANGE};
update closed_ranges r set digest = closed_digest(r, c.digest, r.previous) from checkpoints c
    where c.checkpoint_id = r.checkpoint_id and r.checkpoint_id = {LAST_RANGE};
"""
"""What somebody does to the record who knows how it is made."""


async def make(pool: Pool) -> None:
    """Months with all kinds of entries, of which the first ones are deleted."""
    history = await History.begin(pool, 7)
    await history.go_on(260)
    await close_all(pool, 17)
    closed, _ = await forget(pool, history.now)
    assert closed > 3


@pytest.fixture(scope="module")
async def shortened(postgres_server: str, template: str) -> AsyncIterator[Pool]:
    """A ledger whose oldest ranges were deleted, with holds on both sides of the last one."""
    async with made(postgres_server, template, make) as pool:
        yield pool


@pytest.mark.parametrize(
    "sql",
    [
        *(f"update closings set {name} = coalesce({name}, 0) + 1 {ONE.format('closings')}"
          for name in (*BALANCE, *BASES, "seq", "number", "posted_seq", "limit_tokens", "limit_nano", "grants_made",
                       "grants_ended", "scope_id")),
        *(f"update closings set {name} = now() {ONE.format('closings')}"
          for name in ("at", "first_at", "window_start")),
        f"update closings set mode = 'other' {ONE.format('closings')}",
        f"update closings set tenant = 'other' {ONE.format('closings')}",
        f"delete from closings {ONE.format('closings')}",
        "delete from closings",
        "insert into closings select 'other', scope_id, window_start, first_at, at, seq, number, posted_seq,"
        " 0, 0, 0, 0, 0, 0, 0, 0, null, null, mode, 0, 0, 0, 0, 0, 0 from closings limit 1",
        *(f"update carried_events set {name} = {name} + 1 {ONE.format('carried_events')}"
          for name in ("hold_id", "attempt", "events", *MOVED)),
        f"update carried_events set seen = '[]' {ONE.format('carried_events')}",
        f"update carried_events set kind = 'correction' {ONE.format('carried_events')}",
        f"delete from carried_events {ONE.format('carried_events')}",
        "delete from carried_events",
        *(f"update closed_ranges set {name} = {name} + 1 where checkpoint_id = {LAST_RANGE}" for name in RECORDED),
        *(f"update closed_ranges set {name} = now() where checkpoint_id = {LAST_RANGE}"
          for name in ("last_at", "closed_at")),
        *(f"update closed_ranges set {name} = '\\x00' where checkpoint_id = {LAST_RANGE}"
          for name in ("previous", "digest")),
        f"update closed_ranges set total = ~total where checkpoint_id = {LAST_RANGE}",
        f"update closed_ranges set late = late + 1 {ONE.format('closed_ranges')}",
        f"delete from closed_ranges {ONE.format('closed_ranges')}",
        f"delete from closed_ranges where checkpoint_id = {LAST_RANGE}",
        "delete from closed_ranges",
        "update checkpoints set digest = '\\x00' where checkpoint_id = (select min(checkpoint_id) from closed_ranges)",
        f"delete from checkpoints where checkpoint_id = {LAST_RANGE}",
        "insert into journal (tenant, number, at, kind, scope_ids, window_starts, seqs) overriding system value"
        " select tenant, 1, at, kind, scope_ids, window_starts, seqs from journal limit 1",
        "update postings set last_number = 1 where last_number = (select min(last_number) from postings)",
    ],
)  # fmt: skip
async def test_what_is_changed_of_closings_or_of_their_record_shows(shortened: Pool, sql: str) -> None:
    assert await tamper(shortened, sql, "closings") == {"closings"}


@pytest.mark.parametrize(
    ("check", "sql"),
    [
        *(("balances", f"update closings set {name} = {name} + 1 {USED.format('')}")
          for name in (*BALANCE, "gone_tokens", "gone_nano")),
        *(("chain", f"update closings set {name} = {name} + 1 {USED.format('')}")
          for name in (*BALANCE, "seq", "posted_seq")),
        ("chain", f"update closings set number = 1000000 {USED.format('')}"),
        *(("rolling", f"update closings set {name} = {name} + 1 {ROLLING}")
          for name in ("rolled_tokens", "rolled_nano")),
        ("grants", f"update closings set grants_made = grants_made + 1 {GRANTED}"),
        ("grants", f"update closings set grants_ended = grants_ended + 1 {GRANTED}"),
        ("limits", f"update closings set limit_tokens = coalesce(limit_tokens, 0) + 1 {USED.format('')}"),
        ("limits", f"update closings set mode = 'approval' {USED.format('')}"),
        ("entries_without_balance", f"update closings set tenant = 'other' {USED.format('')}"),
        ("balances", f"delete from closings {USED.format('')}"),
        ("charges", "update carried_events set d_held_tokens = d_held_tokens + 1"),
        ("charges", "update carried_events set d_spent_nano = d_spent_nano + 1"),
        ("charges", "delete from carried_events"),
        ("charges", "insert into carried_events values ('acme', 0, 'settle', 1, 1, 5, 0, 0, 5, 0, 0, null)"),
        ("holds", "delete from carried_events where kind = 'hold'"),
        ("holds", "update carried_events set events = 2 where kind = 'hold'"),
        ("charges", "delete from carried_events where kind = 'presumed'"),
    ],
)  # fmt: skip
async def test_what_is_forged_with_its_record_differs_from_the_rest(shortened: Pool, check: str, sql: str) -> None:
    assert await tamper(shortened, sql + ";" + FORGED, check, "closings") == {check}


@pytest.mark.parametrize(
    ("check", "sql"),
    [
        ("chain", f"delete from journal where number = {FIRST}"),
        ("checkpoints", f"delete from journal where number = {FIRST}"),
        ("chain", "delete from postings where last_number = (select min(last_number) from postings)"),
        ("chain", f"update journal set d_spent_tokens = d_spent_tokens + 1 where number = {FIRST}"),
        ("balances", f"update journal set d_spent_tokens = d_spent_tokens + 1 where number = {FIRST}"),
        ("charges", f"delete from holds where hold_id = {STRADDLES}"),
        ("holds", f"update holds set charged_tokens = charged_tokens + 1 where hold_id = {STRADDLES}"),
        ("holds", f"delete from attempts where hold_id = {STRADDLES}"),
        ("balances", "update balances set spent_tokens = spent_tokens + 1"),
        ("grants", "delete from grants where grant_id = (select min(grant_id) from grants)"),
        ("rolling", "update balances set rolled_to = 1 where rolls_at is not null"),
        *(("rolling", f"update balances set rolls_at = {at} where rolls_at is not null")
          for at in ("null", "'infinity'", "rolls_at + 2 * rolling_length(window_start)")),
        *(("rolling", f"update balances set rolled_seq = {seq} where rolls_at is not null")
          for seq in ("seq + 1", "rolled_to - 1")),
        *(("grants", f"update balances set rolled_over_at = {at} where rolled_over_at is not null")
          for at in ("null", "now()")),
        ("grants", "update grants set until = now() where rolled_over"),
        ("grants", "update balances set grants_end_at = null"),
        ("paths", "update holds set labels = '{}'"),
        ("paths", "update holds set path = '{user:u2}' || path[2:]"),
        ("paths", "update scopes set id = 'u2@5h' where id = 'u1@5h'"),
    ],
)  # fmt: skip
async def test_what_is_changed_of_what_is_left_shows(shortened: Pool, check: str, sql: str) -> None:
    assert await tamper(shortened, sql, check) == {check}


async def test_the_audit_counts_closings(shortened: Pool) -> None:
    assert (await audit(shortened)).checked["closings"] == await shortened.fetchval("select count(*) from closings")
