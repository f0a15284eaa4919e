"""Rules of the SQL: a package names only its own tables; of lower packages it reads views and calls functions."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LONGEST = 150
FILES = sorted(
    Path(name)
    for name in subprocess.run(["git", "ls-files", "*.sql"], cwd=ROOT, capture_output=True, text=True).stdout.split()
    if not name.startswith("tests/")  # the databases of releases
)
_NOISE = re.compile(r"--[^\n]*|'(?:[^']|'')*'")
_TABLE = re.compile(r"\b(?:from|join|into|update|references|on|using|table|only)\s+\"?(\w+)", re.IGNORECASE)
_CREATED = re.compile(r"create table (\w+)", re.IGNORECASE)


def package_of(file: Path) -> str:
    return file.parts[0]


def statements(file: Path) -> str:
    """The text of a file without comments and string literals."""
    return _NOISE.sub("", (ROOT / file).read_text("utf-8"))


OWNERS = {table: package_of(file) for file in FILES for table in _CREATED.findall(statements(file))}


def foreign(text: str, package: str) -> Iterator[str]:
    """Tables of other packages that a statement names."""
    return (name for name in _TABLE.findall(text) if OWNERS.get(name, package) != package)


def test_the_tables_are_known() -> None:
    assert {OWNERS[name] for name in ("holds", "messages", "tasks", "webhooks")} == {
        "budget",
        "context",
        "activities",
        "gateway",
    }


@pytest.mark.parametrize("file", FILES, ids=str)
def test_no_statement_names_a_table_of_another_package(file: Path) -> None:
    assert sorted(foreign(statements(file), package_of(file))) == []


@pytest.mark.parametrize(
    "statement",
    [
        "select * from holds",
        "select 1 from tasks t join journal e using (hold_id)",
        "create trigger t after insert on events for each row execute function f()",
        "insert into outbox (payload) values (1)",
    ],
)
def test_a_statement_that_does_is_noticed(statement: str) -> None:
    assert list(foreign(statement, "activities"))


def claims(text: str) -> Iterator[str]:
    """The subqueries of a file that lock rows up to a limit, each with the word before it."""
    for found in re.finditer(r"\blimit[^()]+\bskip locked\s*\)", text):
        depth, start = 1, found.end() - 1
        while depth:
            start -= 1
            depth += {")": 1, "(": -1}.get(text[start], 0)
        yield text[:start].split()[-1] + text[start : found.end()]


# Inside a join Postgres may evaluate a subquery for each row of the other side: it then passes over the rows that the
# statement has just changed, and claims more than its limit.
@pytest.mark.parametrize("file", [one for one in FILES if not {"migrations", "schema"} & {*one.parts}], ids=str)
def test_rows_are_claimed_up_to_a_limit_in_a_part_that_is_evaluated_once(file: Path) -> None:
    assert [one for one in claims(statements(file)) if not one.startswith("materialized(")] == []


def test_a_claim_inside_a_join_is_noticed() -> None:
    claim = "(select id from t where a in (1, 2) limit $1 for update skip locked)"
    assert list(claims(f"update t set b = 1 from {claim} d where t.id = d.id")) == [f"from{claim}"]
    assert list(claims(f"with d as materialized {claim} select 1")) == [f"materialized{claim}"]


@pytest.mark.parametrize("file", FILES, ids=str)
def test_lines_can_be_read(file: Path) -> None:
    lines = (ROOT / file).read_text("utf-8").splitlines()
    assert [line for line in lines if len(line) > LONGEST] == []
