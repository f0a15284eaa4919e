"""The audit finds tampered rows, each kind by its own check."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from purser.budget.policies.policy import PolicyPatch
from purser.budget.postgres.audit.audit import audit
from purser.budget.postgres.connections.pools import Pool
from purser.budget.postgres.ledger.policy_sets import PolicySets
from tests.budget.postgres.audit.tampering import made, tamper
from tests.support.actors import TESTER
from tests.support.approvals import BOB, NOW, open_desk
from tests.support.ledger import TENANT, Books, request

TASK = ("session:s1", "task:t1")


@pytest.fixture(scope="module")
async def common(postgres_server: str, template: str) -> AsyncIterator[Pool]:
    """A sound ledger of all tests that leave it as it is."""
    async with made(postgres_server, template, make) as pool:
        yield pool


@pytest.fixture
async def own(pool: Pool) -> Pool:
    """The same ledger, to change."""
    await make(pool)
    return pool


async def make(pool: Pool) -> None:
    """A ledger with everything in it: holds in every state, overrun, charges that were presumed or late, policies that
    changed, a grant that ended and one that did not, approvals."""
    books = Books.on(pool)
    await books.budget("session:s1", limit_tokens=2_000)
    await books.budget("session:s1", limit_tokens=1_000, limit_nano_usd=1_000, mode="hard")
    await PolicySets(pool, books.policies).apply(TENANT, {"task:*": PolicyPatch(limit_tokens=90_000)}, by=TESTER)
    await books.budget("task:t1", task="t1", limit_tokens=5_000, limit_nano_usd=5_000)
    await books.spend("settled", 100, 10, *TASK)
    await books.settle(await books.hold("overrun", 100, 10, *TASK), 120, 12)
    late = await books.hold("late", 100, 10, *TASK)
    await books.ledger.start_attempt(TENANT, late, 1)
    await books.ledger.release(TENANT, hold_id=late)
    await books.settle(late, 90, 9)
    presumed = await books.hold("presumed", 100, 10, *TASK)
    await books.ledger.start_attempt(TENANT, presumed, 1)
    await books.ledger.release(TENANT, hold_id=presumed)
    await books.hold("open", 50, 5, *TASK)
    await books.ask("refused", 5_000, 0, *TASK)
    await books.ledger.release(TENANT, key="closed")
    await books.grant("session:s1", 5, 1, until=datetime.now(UTC))
    await books.ledger.sweep()
    await pool.execute(
        "insert into approvals (approval_id, tenant, scope_id, window_start, task, state, asked_tokens, asked_nano,"
        " rules, granted_tokens, granted_nano, created_at, deadline, decided_at)"
        " select a.id, tenant, scope_id, '-infinity', a.task, 'approved', 70, 7, '{}', 70, 7, now(), now(), now()"
        " from scopes, (values ('a1', ''), ('a2', 't1')) a (id, task) where kind = 'session'"
    )
    await pool.execute(
        "insert into decisions (tenant, decision_id, approval_id, digest, choice, approver, identity, grant_tokens,"
        " grant_nano_usd, until, at, answer)"
        " select tenant, 'd1', approval_id, '', 'approve', 'boss', 'key', 70, 7, now() + interval '1 day', now(), '{}'"
        " from approvals where approval_id = 'a1'"
    )
    await pool.execute(
        "select ledger_grant(s.tenant, s.scope_id, '-infinity', 70, 7, d.until, 'a1', 'd1', 'boss', now())"
        " from scopes s join decisions d using (tenant) where kind = 'session'"
    )


MOVED = [f"{name}_{unit}" for name in ("spent", "held", "granted", "overrun") for unit in ("tokens", "nano")]
FIRST = "(select min(number) from journal where kind = 'hold')"
LAST = "(select max(number) from journal)"
ONE_HOLD = "(select hold_id from holds where key = 'settled')"
SESSION = "(select scope_id from scopes where id = 's1')"
SETTLED = f"(select number from journal where kind = 'settle' and hold_id = {ONE_HOLD})"


@pytest.mark.parametrize(
    ("check", "sql"),
    [
        *(
            ("balances", f"update balances set {column} = {column} + 1")
            for column in (*MOVED, "seq")
        ),
        ("balances", f"delete from journal where number = {LAST}"),
        ("balances", "delete from grants"),
        ("balances", "update holds set tokens = tokens + 1 where state = 'held'"),
        ("entries_without_balance", "update journal set scope_ids = '{999}' where kind = 'grant'"),
        ("chain", f"delete from journal where number = {FIRST}"),
        ("chain", f"delete from journal where number = {LAST}"),
        ("chain", f"delete from postings where last_number = {FIRST}"),
        ("chain", f"delete from postings where last_number = {LAST}"),
        ("chain", f"update journal set d_held_tokens = d_held_tokens + 1 where number = {FIRST}"),
        *(("chain", f"update postings set {column} = {column} + 1 where last_number = {FIRST}") for column in MOVED),
        ("chain", f"update journal set seqs = array(select n + 1 from unnest(seqs) n) where number = {LAST}"),
        ("chain", f"update journal set at = now() where number = {FIRST}"),
        ("chain", "update postings set first_seq = first_seq - 1"),
        ("chain", f"update postings set last_seq = last_seq + 1 where last_number = {LAST}"),
        ("chain", f"update postings set first_number = last_number + 1 where last_number = {FIRST}"),
        ("chain", f"update postings set last_number = 0 where last_number = {FIRST}"),
        ("chain", "update postings set late = not late"),
        ("chain", "update postings set first_number = 0, last_number = 1000;"
                  f"update journal set number = default where number = {FIRST}"),
        ("overspend", f"update postings set limit_tokens = 99 where last_number = {FIRST}"),
        ("overspend", f"update postings set limit_nano = 9 where last_number = {FIRST}"),
        ("overspend", f"update postings set limit_tokens = 99, mode = 'approval' where last_number = {FIRST}"),
        ("overspend", "update journal set limits_tokens = '{99, 99}', limits_nano = '{99, 99}', modes = '{hard, hard}'"
                      f" where number = {FIRST}"),
        ("paths", "update journal set scope_ids = scope_ids[1:1], window_starts = window_starts[1:1], seqs = seqs[1:1]"
                  f" where number = {FIRST}"),
        ("paths", "update scopes set id = 'other' where id = 't1'"),
        ("paths", "update scopes set id = case id when 't1' then 's1' else 't1' end"),
        ("paths", f"update holds set path = '{{session:other,task:t1}}' where hold_id = {ONE_HOLD}"),
        ("paths", f"update holds set path = path[1:1] where hold_id = {ONE_HOLD}"),
        ("paths", f"update holds set path = path || '{{agent:t1/a}}' where hold_id = {ONE_HOLD}"),
        ("paths", f"update holds set task = 'other' where hold_id = {ONE_HOLD}"),
        ("paths", "update journal set scope_ids = scope_ids || scope_ids, seqs = seqs || seqs,"
                  f" window_starts = window_starts || window_starts where number = {FIRST}"),
        ("paths", f"update journal set window_starts = '{{now, now}}' where number = {FIRST}"),
        ("paths", f"update journal set seqs = seqs[1:1] where number = {FIRST}"),
        ("paths", "update holds set scope_ids = scope_ids[1:1], window_starts = window_starts[1:1] where key = 'open'"),
        ("charges", f"delete from holds where hold_id = {ONE_HOLD}"),
        ("charges", f"update journal set hold_id = 1 + hold_id where hold_id = {ONE_HOLD}"),
        (
            "charges",  # ten tokens charged to another hold: every sum of a scope stays what it was
            "update holds set charged_tokens = charged_tokens + case key when 'late' then 10 else -10 end"
            " where key in ('late', 'settled');"
            "update attempts a set tokens = a.tokens + case h.key when 'late' then 10 else -10 end"
            " from holds h where h.hold_id = a.hold_id and h.key in ('late', 'settled')",
        ),
        ("charges", f"update journal set hold_id = null where hold_id = {ONE_HOLD}"),
        *(("charges", f"update holds set {column} = {column} + 1 where key = 'open'")
          for column in ("tokens", "nano", "charged_tokens", "charged_nano")),
        *(("charges", f"update attempts set overrun_{unit} = overrun_{unit} + 1") for unit in ("tokens", "nano")),
        *(("holds", f"update attempts set {unit} = {unit} + 1") for unit in ("tokens", "nano")),
        ("holds", "update holds set attempts = attempts + 1"),
        ("holds", "update attempts set state = 'started'"),
        ("holds", "delete from attempts"),
        ("holds", f"update holds set state = 'released' where hold_id = {ONE_HOLD}"),
        ("holds", f"update holds set ended_at = null where hold_id = {ONE_HOLD}"),
        ("holds", "update holds set state = 'expired' where key = 'closed'"),
        ("holds", f"update holds set state = 'expired' where hold_id = {ONE_HOLD}"),
        ("holds", "update holds set views = null where key = 'presumed'"),
        ("holds", f"update journal set kind = 'overrun' where number = {FIRST}"),
        ("grants", "insert into grants (tenant, scope_id, window_start, tokens, nano, granted_by, created_at)"
                   " select tenant, scope_id, window_start, 5, 5, 'nobody', now() from balances limit 1"),
        ("grants", "update grants set ended_at = now()"),
        ("grants", "select ledger_grant(tenant, scope_id, '-infinity', 70, 7, null, 'a1', 'd1', 'boss', now())"
                   " from grants"),
        ("grants", "select ledger_grant(tenant, scope_id, '-infinity', 7, 0, null, 'a2', 'd1', 'boss', now())"
                   " from grants"),
        *(("grants", f"update approvals set granted_{unit} = 0") for unit in ("tokens", "nano")),
        ("grants", "delete from approvals where approval_id = 'a1'"),
        ("grants", "delete from decisions; delete from approvals where approval_id = 'a1'"),
        ("grants", "delete from decisions"),
        ("grants", "update decisions set choice = 'deny'"),
        *(("grants", f"update approvals set state = '{state}' where approval_id = 'a1'")
          for state in ("denied", "pending", "expired", "withdrawn")),
        *(("grants", f"update grants set until = {until} where approval_id = 'a1';"
                     "update balances set grants_end_at = (select until from grants where approval_id = 'a1')"
                     f" where scope_id = {SESSION}")
          for until in ("null", "until + interval '1 year'", "now()")),
        *(("grants", f"update balances set grants_end_at = {end} where scope_id = {SESSION}")
          for end in ("null", "'infinity'", "now()")),
        *(("limits", f"update balances set limit_{unit} = limit_{unit} + 1") for unit in ("tokens", "nano")),
        ("limits", "update balances set mode = 'approval'"),
        ("limits", f"update postings set limit_tokens = 5000 where last_number = {FIRST}"),
        *(("limits", f"update postings set limit_{unit} = 5000 where last_number = {SETTLED}")
          for unit in ("tokens", "nano")),
        ("limits", f"update postings set mode = 'soft' where last_number = {SETTLED}"),
        ("limits", "update journal set limits_tokens = '{7, 7}', limits_nano = '{7, 7}', modes = '{soft, soft}'"
                   f" where number = {FIRST}"),
        *(("limits", f"update holds set views = jsonb_set(views, '{{0, {field}}}', '{value}') where key = 'settled'")
          for field, value in (("limit, 0", "5000"), ("limit, 1", "5000"), ("mode", '"soft"'))),
        ("attempts", "insert into attempts (tenant, hold_id, attempt, state, started_at)"
                     f" values ('{TENANT}', 999, 1, 'started', now())"),
        ("attempts", "update attempts set state = 'presumed' where state = 'reported'"),
        ("attempts", "update attempts set state = 'started' where state = 'presumed'"),
        *(("attempts", f"update attempts set {column} = null where state = 'reported'")
          for column in ("digest", "usage", "reported_at")),
        *(("attempts", f"update attempts set {column} = {value} where state = 'presumed'")
          for column, value in (("digest", "'x'"), ("usage", "'{}'"), ("reported_at", "now()"), ("late", "true"))),
        ("attempts", "update attempts set usage = usage || '{\"input\": 1}'"),
        ("reports", "update attempts set usage = usage || jsonb_build_object('input', 0, 'output', usage -> 'input')"),
        ("policies", "update policies set limit_tokens = 999999"),
        ("policies", "update policies set mode = 'soft'"),
        ("policies", "delete from changes"),
        ("policies", "delete from policies"),
        ("policies", "update policies set task = 'zz' where task = ''"),
        ("policies", f"delete from policies where scope_id = {SESSION}"),
        ("templates", "delete from changes"),
        ("templates", "update policy_templates set fields = '{\"limit_tokens\": 9}'"),
        ("templates", "update templated_policies set limit_tokens = 9"),
        ("templates", "delete from templated_policies"),
        ("templates", "delete from policy_templates"),
        ("templates", "delete from policy_templates; delete from templated_policies"),
    ],
)  # fmt: skip
async def test_tampering_is_found(common: Pool, check: str, sql: str) -> None:
    assert await tamper(common, sql, check) == {check}


async def test_policies_and_templates_that_were_removed_are_no_difference(own: Pool) -> None:
    sets = PolicySets(own, Books.on(own).policies)
    assert await sets.apply(TENANT, {}, by=TESTER, prune=True)
    assert await own.fetchval("select count(*) from policy_templates") == 0
    assert (await audit(own)).ok


async def test_a_grant_to_which_two_people_agreed_has_the_earlier_of_their_ends(pool: Pool) -> None:
    async with open_desk(pool) as desk:
        await desk.policy(approval={"two_people_above_tokens": 300})
        ticket = await desk.ask("k1", 500)
        await desk.decide(ticket, "d1", until=NOW + timedelta(hours=1))
        await desk.decide(ticket, "d2", actor=BOB, until=NOW + timedelta(hours=2))
        assert await pool.fetchval("select until from grants") == NOW + timedelta(hours=1)
        assert (await audit(pool)).ok


async def test_a_difference_names_the_scope_the_window_and_the_figures(own: Pool) -> None:
    await own.execute(
        "update balances set held_tokens = 77 where scope_id = (select scope_id from scopes where id = 't1')"
    )
    (difference,) = (await audit(own)).differences
    assert difference == {
        "check": "balances",
        "what": "a balance differs from its entries, or from its holds, attempts and grants",
        "tenant": TENANT,
        "scope": "task:t1",
        "window_start": "-infinity",
        "name": "held_tokens",
        "balance": 77,
        "entries": 50,
        "rows": 50,
    }


async def test_the_audit_counts_what_it_checked(common: Pool) -> None:
    checked = (await audit(common)).checked
    assert (checked["holds"], checked["attempts"], checked["grants"], checked["balances"]) == (7, 4, 2, 2)
    assert checked["entries"] == await common.fetchval("select count(*) from entries")


async def test_an_audit_blocks_no_writer_and_sees_one_snapshot(own: Pool) -> None:
    books = Books.on(own)
    async with own.acquire() as writer, writer.transaction():
        await books.ledger.hold(TENANT, request("during", 10, 1, *TASK), writer)
        assert (await audit(own)).ok
    assert (await audit(own)).ok


@pytest.mark.parametrize("table", ["journal", "postings"])
@pytest.mark.parametrize("sql", ["update {} set at = now()", "delete from {}", "truncate {}"])
async def test_entries_cannot_be_changed_or_removed(common: Pool, table: str, sql: str) -> None:
    with pytest.raises(asyncpg.RaiseError, match="append-only: write a correction instead"):
        await common.execute(sql.format(table))
