"""The vocabulary: each term once, each name of it in the product, and no retired word in any name."""

import ast
import fnmatch
import re
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from purser.gateway.app import ROUTERS
from tests.test_sql import OWNERS as TABLES

ROOT = Path(__file__).parents[2]
PACKAGES = ("activities", "benchmarks", "budget", "compose", "context", "gateway", "workflows")
PAGE = (ROOT / "docs/concepts/vocabulary.md").read_text("utf-8")
METRICS = re.findall(r"^\| `(purser_\w+)", (ROOT / "docs/reference/metrics.md").read_text("utf-8"), re.MULTILINE)
PATHS = [getattr(route, "path", "") for router in ROUTERS for route in router.routes]
RESOURCES = {"/".join(path.split("/")[:3]) for path in PATHS if path.startswith("/v1/")}
RETIRED = {
    "aside": "extra",
    "asides": "extras",
    "beside": "parallel",
    "brief": "context",
    "desk": "approver",
    "door": "channel",
    "doors": "inbox",
    "kept": "retained",
    "news": "changes",
    "nobody": "no_one",
    "notice": "message",
    "notices": "messages",
    "somebody": "anyone",
    "spared": "exempt",
    "standing": "health",
    "steering": "control",
    "story": "attempt",
    "talk": "conversation",
    "teller": "progress",
    "telling": "reporting",
    "told": "reported",
    "untold": "omitted",
    "whom": "target",
    "wish": "preference",
    "wishes": "preferences",
}
"""Words that no name has, and what is said instead."""
GATE = [
    ROOT / "budget/holds.py",
    *(ROOT / "budget/gate").glob("*.py"),
    *(ROOT / "budget/postgres/ledger").glob("*.py"),
    *(ROOT / "gateway/holds").glob("*.py"),
    *(ROOT / "activities/calls").glob("*.py"),
]
"""Modules in which the gate answers."""


def rows() -> Iterator[tuple[str, str, list[str]]]:
    """Term, meaning and names of each row."""
    for line in PAGE.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and cells[0] not in ("term", "---"):
            term, meaning, names = cells
            yield term, meaning, re.findall(r"`([^`]+)`", names)


NAMES = [name for _, _, names in rows() for name in names]


def exists(name: str) -> bool:
    """Whether the product has that Python name, resource, metric or table; `*` matches the end of a metric."""
    if name.startswith("purser."):
        module, _, attribute = name.rpartition(".")
        return hasattr(import_module(module), attribute)
    if name.startswith("/"):
        return name in RESOURCES
    if name.startswith("purser_"):
        return bool(fnmatch.filter(METRICS, name))
    return name in TABLES


def test_each_term_is_defined_once() -> None:
    terms = Counter(term for shared, _, _ in rows() for term in shared.split(", "))
    assert [term for term, times in terms.items() if times > 1] == []
    assert all(meaning.endswith((".", ")")) for _, meaning, _ in rows())
    assert len(terms) > 60


@pytest.mark.parametrize("name", NAMES)
def test_each_name_of_a_term_is_one_of_the_product(name: str) -> None:
    assert exists(name)
    assert NAMES.count(name) == 1


@pytest.mark.parametrize("missing", ["purser.budget.Nothing", "/v1/nothing", "purser_nothing_*", "nothing"])
def test_a_name_that_is_gone_is_found(missing: str) -> None:
    assert not exists(missing)


def test_every_table_resource_and_metric_belongs_to_a_term() -> None:
    explained = {metric for name in NAMES for metric in fnmatch.filter(METRICS, name)}
    assert sorted(TABLES.keys() - set(NAMES)) == []
    assert sorted(RESOURCES - set(NAMES)) == []
    assert sorted(set(METRICS) - explained) == []


def identifiers(tree: ast.AST) -> Iterator[str]:
    """Names that a module gives to something."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name


def retired(name: str) -> list[str]:
    """Retired words in a name in snake or camel case."""
    return [word for word in re.findall(r"[a-z]+", re.sub(r"([A-Z])", r"_\1", name).lower()) if word in RETIRED]


@pytest.mark.parametrize("file", GATE, ids=lambda file: str(file.relative_to(ROOT)))
def test_the_gate_gives_verdicts_and_leaves_decisions_to_people(file: Path) -> None:
    given = identifiers(ast.parse(file.read_text("utf-8")))
    assert [name for name in given if re.search("decision|decide", name, re.IGNORECASE)] == []


@pytest.mark.parametrize("name", ["_told", "SetAside", "for_whom", "AgentInDoors"])
def test_a_retired_word_is_found_in_any_case(name: str) -> None:
    assert retired(name)


@pytest.mark.parametrize("package", PACKAGES)
def test_no_name_has_a_retired_word(package: str) -> None:
    found = []
    for file in sorted((ROOT / package).rglob("*.py")):
        given = {file.stem, *identifiers(ast.parse(file.read_text("utf-8")))}
        found += [f"{file.relative_to(ROOT)}: {name}" for name in sorted(given) if retired(name)]
    assert found == [], f"write instead: {RETIRED}"
