"""The rule of tenants: ledger tables begin with their tenant, and a statement is of one tenant unless it sweeps.

So the ledger can be distributed by tenant (`docs/operations/scaling.md`).
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import pytest

from tests.test_sql import FILES, ROOT, statements

LOCAL = {
    "audit_result": "one row: what the last audit of all tenants found",
    "balance_sampling": "one row: when a sweep sampled balances last",
    "checkpoint_horizon": "one row: how far the sweep that makes checkpoints has come",
    "checkpoints": "one chain of digests over the journal of all tenants, in the order of its numbers",
    "closed_ranges": "one chain of the ranges of checkpoints that retention deleted",
}
"""Tables of the ledger's package that belong to no tenant."""
SWEEP_INDEXES = {
    "approvals_due": "expiry reads the earliest deadlines",
    "balance_samples_at": "pruning reads the oldest samples",
    "journal_at": "checkpoints read a range of numbers",
    "events_in_order": "feeds and retention read events in the order of their positions",
    "events_unnumbered": "the reader of events assigns positions",
    "grants_ending": "expiry reads the grants that have ended",
    "holds_open": "expiry reads the holds whose lease is over",
    "postings_in_order": "checkpoints read a range of numbers",
    "outbox_due": "the dispatcher claims what is due, and retention what was sent",
}
"""Indexes that do not begin with the tenant, and what reads them."""
SWEEPS = {
    "budget/postgres/approvals/reminders.sql due": "finds requests to remind of, by tenant",
    "budget/postgres/approvals/approvals.sql due": "finds requests that have expired, by tenant",
    "budget/postgres/approvals/approvals.sql pending": "finds requests that may be moot, by tenant",
    "budget/postgres/events/events.sql after": "webhooks and event streams read the events of all tenants once",
    "budget/postgres/events/events.sql forget": "retention",
    "budget/postgres/events/events.sql newest": "the position from which readers begin",
    "budget/postgres/events/events.sql newest_forgotten": "whether events that readers miss were deleted",
    "budget/postgres/events/outbox.sql claim": "the dispatcher sends what is due",
    "budget/postgres/events/outbox.sql forget": "retention",
    "budget/postgres/audit/audit.sql": "the audit checks the whole ledger",
    "budget/postgres/reports/burn.sql exhausting": "metrics",
    "budget/postgres/reports/burn.sql prune": "retention",
    "budget/postgres/reports/burn.sql sample": "samples balances in the background",
    "budget/postgres/reports/exporter.sql": "metrics",
    "budget/postgres/reports/reconciling.sql": "one account of a provider may serve several tenants",
    "budget/postgres/reports/stored_limits.sql stored_limits": "`purser doctor` checks the policies of all tenants",
    "budget/postgres/schema/reports/checkpoints.sql ledger_digest": "checkpoints cover the entries of all tenants",
    "budget/postgres/schema/reports/checkpoints.sql ledger_checkpoint": "checkpoints cover the entries of all tenants",
    "budget/postgres/schema/closings.sql closings_total": "the audit checks the whole ledger",
    "budget/postgres/schema/reports/retention.sql": "a checkpoint covers the entries of all tenants, and goes whole",
    "budget/postgres/schema/calls/closing.sql ledger_expire": "expiry finds tenants, then works on each in turn",
    "budget/postgres/schema/events.sql number_events": "positions are one order of all tenants",
    "budget/postgres/schema/limits/grants.sql ledger_sweep_grants": "expiry finds tenants, then works on each in turn",
    "budget/postgres/schema/limits/templates.sql apply_templates_to_new_scopes": "works on the tenants of new scopes",
    "gateway/postgres/keys.sql tenants": "`purser tenants list` names all tenants",
    "compose/demo/figures.sql": "the database of the demo has one tenant",
}
"""Statements over all tenants, by file and name, and why."""

CREATED = {
    name
    for file in FILES
    if file.parts[:3] == ("budget", "postgres", "schema")
    for name in re.findall(r"create table (\w+)", statements(file))
}
LEDGER = sorted(CREATED - LOCAL.keys())
VIEWS = [
    name
    for file in FILES
    if file.parts[:3] == ("budget", "postgres", "schema")
    for name in re.findall(r"create view (\w+)", statements(file))
]

# --- tables ----------------------------------------------------------------------------------------------------------

COLUMNS = """
select c.relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum = 1
where c.relnamespace = 'public'::regnamespace and c.relname = any ($1)
  and (a.attname <> 'tenant' or not a.attnotnull and c.relkind = 'r')
"""
UNIQUE = """
select i.indexrelid::regclass::text as name from pg_index i
where i.indrelid::regclass::text = any ($1) and i.indisunique and i.indkey[0] <> 1
"""
INDEXES = """
select i.indexrelid::regclass::text as name from pg_index i
where i.indrelid::regclass::text = any ($1) and not i.indisunique and i.indkey[0] <> 1
"""
ASSUMED = """
select attrelid::regclass::text as name from pg_attribute
where attrelid::regclass::text = any ($1) and attname = 'tenant' and attoptions = '{n_distinct=1}' order by name
"""
FOREIGN_KEYS = """
select conname as name from pg_constraint
where contype = 'f' and (conrelid::regclass::text = any ($1) or confrelid::regclass::text = any ($1))
  and not (conrelid::regclass::text = any ($1) and confrelid::regclass::text = any ($1)
           and conkey[1] = 1 and confkey[1] = 1)
"""


async def breaches(dsn: str, *changes: str) -> set[str]:
    """Views, tables, keys and foreign keys that do not begin with the tenant once `changes` are made."""
    connection = await asyncpg.connect(dsn)
    async with connection.transaction():
        for change in changes:
            await connection.execute(change)
        found = [await connection.fetch(query, [*LEDGER, *VIEWS]) for query in (COLUMNS, UNIQUE, FOREIGN_KEYS)]
        assert await connection.fetchval("select count(*) from pg_class where relname = any ($1)", LEDGER) == len(
            LEDGER
        )
    await connection.close()
    return {row["name"] for rows in found for row in rows}


async def test_every_ledger_table_and_view_key_and_foreign_key_begins_with_the_tenant(dsn: str) -> None:
    assert await breaches(dsn) == set()


async def test_only_indexes_of_sweeps_do_not_begin_with_the_tenant(dsn: str) -> None:
    connection = await asyncpg.connect(dsn)
    assert {row["name"] for row in await connection.fetch(INDEXES, LEDGER)} == SWEEP_INDEXES.keys()
    await connection.close()


async def test_statistics_never_take_a_tenant_for_the_owner_of_few_rows(dsn: str) -> None:
    connection = await asyncpg.connect(dsn)
    assert [row["name"] for row in await connection.fetch(ASSUMED, LEDGER)] == LEDGER
    await connection.close()


@pytest.mark.parametrize(
    ("change", "breach"),
    [
        ("alter table holds add unique (key)", "holds_key_key"),
        ("create unique index only_one on attempts (hold_id, tenant)", "only_one"),
        ("alter table scopes add unique (scope_id);"
         "alter table grants add constraint astray foreign key (scope_id) references scopes (scope_id)", "astray"),
        ("alter table policies alter constraint policies_tenant_scope_id_fkey not enforced;"
         "alter table balance_samples add foreign key (tenant) references forgotten_events (tenant);"
         "create table elsewhere (hold_id bigint primary key);"
         "alter table waiters add constraint out foreign key (hold_id) references elsewhere", "out"),
        ("alter table waiters rename tenant to owner", "waiters"),
    ],
)  # fmt: skip
async def test_a_key_without_the_tenant_is_noticed(dsn: str, change: str, breach: str) -> None:
    assert breach in await breaches(dsn, change)


# --- the page that says how to distribute them -----------------------------------------------------------------------

PAGE = ROOT / "docs" / "operations" / "scaling.md"
ON_THE_COORDINATOR = {"outbox", "alembic_version"}
"""Tables that are not distributed although they have a tenant, or belong to no package."""
_CHANGING = re.compile(r"create function (ledger_\w+)\(p_tenant text(?:(?!\bstable\b|\$\$).)*\$\$", re.DOTALL)


def test_the_page_on_scaling_names_every_table_and_says_where_it_is() -> None:
    page = PAGE.read_text("utf-8")
    distributed = re.findall(r"create_distributed_table\('(\w+)'", page)
    assert sorted(distributed) == sorted({*LEDGER} - ON_THE_COORDINATOR)
    rows = page.split("\nNot distributed:\n", 1)[1].split("\n\n", 1)[0].strip().splitlines()[2:]
    remaining = [name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])]
    assert sorted(remaining) == sorted(LOCAL.keys() | ON_THE_COORDINATOR)


def test_the_page_on_scaling_distributes_each_function_that_a_statement_calls_to_change_something() -> None:
    listed = PAGE.read_text("utf-8").split("where proname in (", 1)[1].split(");", 1)[0]
    changing = {name for file in FILES for name in _CHANGING.findall((ROOT / file).read_text("utf-8"))}
    called = {name for one in STATEMENTS for name, _ in _CALL.findall(one.text) if "/schema/" not in one.name}
    assert sorted(re.findall(r"'(\w+)'", listed)) == sorted(changing & called)


# --- statements ------------------------------------------------------------------------------------------------------

NAMES = "|".join([*LEDGER, *VIEWS])
GIVEN = r"(?:\$\d+|[pv]_tenant|any \(\$\d+\))"
"""What gives a tenant: a parameter, or the variable of a loop over tenants."""
_NAMED = re.compile(r"^-- name: (\w+)[^\n]*\n", re.MULTILINE)
_MADE = re.compile(r"^create (?:function|view) (\w+)", re.MULTILINE)
_KEYWORDS = "cross|for|group|join|left|limit|on|order|returning|select|set|union|using|values|where|window"
_USE = re.compile(
    rf"\b(?:from|join|update|using) (?:{NAMES})\b(?! ?\()(?: (?!(?:{_KEYWORDS})\b)(\w+))?"
    rf"|, (?:{NAMES}) (\w+) (?:where|cross|join|left)\b"
)
"""A ledger table or view that is read or changed, and its alias."""
_LOOSE = re.compile(r"(?<!\.tenant and )\b\w+\.(?:scope|hold|approval|grant|event|outbox)_id = \w+\.\w+")
"""An id that is compared with another row's, without the tenants before it."""
_INSERT = re.compile(rf"\binsert into ({NAMES})\b(?: as \w+)? ?([^ ,)]*)")
_CALL = re.compile(r"(?<!create function )\b(\w+)\(([^,()]*)")


@dataclass(frozen=True)
class Statement:
    """A statement of a file, or of the body of a function."""

    name: str
    """The file, and the name of the statement, function or view."""
    text: str
    rows: tuple[str, ...] = ()
    """Parameters that are a row of a ledger table or view, and so have a tenant."""

    @property
    def sweeps(self) -> bool:
        """Whether it may be of all tenants; a view is, and its readers give the tenant."""
        return self.name in SWEEPS or self.name.split()[0] in SWEEPS or self.name.split()[-1] in VIEWS

    def faults(self, sweeps: bool) -> Iterator[str]:
        """What is missing for this to be a statement of one tenant, or for the joins of a sweep to stay within each."""
        given = "|".join([GIVEN, *(rf"{row}\.tenant" for row in (*self.rows, "new"))])
        fixed = re.search(rf"\btenant = (?:{given})", self.text)
        aliases = Counter(first or second for first, second in _USE.findall(self.text))
        if sweeps and not fixed:
            yield from _LOOSE.findall(self.text)
        elif aliases and not fixed:
            yield "no tenant is given"
        else:
            yield from (f"{alias}.tenant" for alias, uses in aliases.items() if self._conditions(alias) < uses)
        for table, columns in _INSERT.findall(self.text):
            if not columns.startswith("(tenant") and not fixed:
                yield f"insert into {table}"
        for function, argument in _CALL.findall(self.text):
            allowed = rf"{GIVEN}|\w+\.tenant" + ("|null" if sweeps else "")
            if function in WITH_TENANT and not re.fullmatch(allowed, argument):
                yield f"{function}({argument})"

    def _conditions(self, alias: str) -> int:
        """How many conditions begin with the tenant of an alias, of which each use has its own."""
        return len(re.findall(rf"\b{alias}\.tenant =" if alias else r"(?<!\.)\btenant =", self.text))


def read(file: Path) -> Iterator[Statement]:
    """The statements of an SQL file; bodies of functions are taken apart."""
    text = (ROOT / file).read_text("utf-8")
    parts = (_MADE if "schema" in file.parts else _NAMED).split(text)
    for name, body in zip(parts[1::2], parts[2::2], strict=True):
        plain = re.sub(r"--[^\n]*|'(?:[^']|'')*'", "", body)
        rows = re.findall(rf"\b(\w+) (?:{NAMES})(?:%rowtype)?[,;)]", plain)
        for one in re.split(r";|\bloop\b", plain):
            yield Statement(f"{file} {name}", " ".join(one.split()), tuple(rows))


def inline(file: Path) -> Iterator[Statement]:
    """The statements in the strings of a module."""
    for node in ast.walk(ast.parse((ROOT / file).read_text("utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = " ".join(node.value.split())
            if re.match(r"(select|insert|update|delete|with) ", text, re.IGNORECASE):
                yield Statement(str(file), text)


WITH_TENANT = {
    name
    for file in FILES
    for name in re.findall(r"create function (\w+)\(p_tenant text", (ROOT / file).read_text("utf-8"))
}
STATEMENTS = [one for file in FILES for one in read(file)]
MODULES = [
    path.relative_to(ROOT)
    for package in ("budget", "context", "activities", "workflows", "gateway", "compose")
    for path in (ROOT / package).rglob("*.py")
]


def test_every_statement_is_of_one_tenant_unless_it_sweeps() -> None:
    every = [*STATEMENTS, *(one for file in MODULES for one in inline(file))]
    assert {f"{one.name}: {fault}" for one in every for fault in one.faults(one.sweeps)} == set()


@pytest.mark.parametrize("sweep", SWEEPS)
def test_a_statement_that_is_listed_as_a_sweep_is_one(sweep: str) -> None:
    of_it = [one for one in STATEMENTS if sweep in (one.name, one.name.split()[0])]
    assert any("no tenant is given" in one.faults(sweeps=False) or "(null" in one.text for one in of_it)


@pytest.mark.parametrize(
    "text",
    [
        "select * from holds where key = $1",
        "select 1 from holds h join attempts a on a.hold_id = h.hold_id where h.tenant = $1",
        "select 1 from scopes s, balances b where s.tenant = $1 and b.scope_id = s.scope_id",
        "select 1 from holds h where h.tenant = $1 and exists (select from waiters w where w.hold_id = h.hold_id)",
        "update balances set held_tokens = 0 where scope_id = $1",
        "delete from waiters w where w.hold_id = $1",
        "insert into grants (scope_id, tenant) values ($2, $1)",
        "select ledger_policies(array[s.scope_id], '', $2) from scopes s where s.tenant = $1",
        "select * from ledger_exhausting(null, $1, $2)",
        "select state from hold_facts where hold_id = $1",
    ],
)
def test_a_statement_without_the_tenant_is_noticed(text: str) -> None:
    assert list(Statement("new.sql it", text).faults(sweeps=False))


@pytest.mark.parametrize(
    "text",
    [
        "select 1 from balances b join entries e on e.scope_id = b.scope_id",
        "select 1 from holds h left join lateral (select from attempts a where a.hold_id = h.hold_id) a on true",
        "delete from outbox x using oldest o where x.outbox_id = o.outbox_id",
        "insert into balance_samples (scope_id) select b.scope_id from balances b",
    ],
)
def test_a_sweep_that_mixes_tenants_is_noticed(text: str) -> None:
    assert list(Statement("new.sql it", text).faults(sweeps=True))
