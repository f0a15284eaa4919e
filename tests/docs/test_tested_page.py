"""The page of what is tested: it is current, and each cell names tests that exist or says why there are none."""

import ast
import re
from pathlib import Path

import pytest

from docs.generate import GENERATED
from docs.tested_page import CASES, WAYS, Cell, Way, page

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "clients" / "tested.md"


def names_in(file: Path) -> set[str]:
    """Names of the tests of a file, with those that it imports by `*`."""
    names: set[str] = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        match node:
            case ast.AsyncFunctionDef(name=name) if name.startswith("test_"):
                names.add(name)
            case ast.ImportFrom(module=str(module), names=[ast.alias(name="*")]):
                names |= names_in(ROOT / "client" / "tests" / f"{module}.py")
    return names


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(GENERATED), "run `python docs/generate.py`"


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
def test_each_cell_names_tests_that_exist_or_says_why_there_are_none(way: Way) -> None:
    assert set(way.cells) == set(CASES)
    known = names_in(ROOT / way.file)
    for case, cell in way.cells.items():
        if isinstance(cell, Cell):
            assert cell.names, case
            assert set(cell.names) <= known, case
        else:
            assert cell.endswith("."), case


def test_each_table_of_tests_is_on_the_page() -> None:
    folder = ROOT / "client" / "tests"
    tables = {*folder.glob("*/test_table*.py"), *folder.glob("*/test_proxy.py"), *folder.glob("clients/test_*.py")}
    assert {str(file.relative_to(ROOT)) for file in tables} <= {way.file for way in WAYS}
    assert {"mcp", "temporal"} <= {Path(way.file).parent.name for way in WAYS}


@pytest.mark.parametrize(("environment", "major"), [("openai-2", 2), ("clients", 3)])
def test_environments_have_the_versions_of_openai_that_the_page_names(environment: str, major: int) -> None:
    pins = (ROOT / "client" / "requirements" / f"{environment}.txt").read_text(encoding="utf-8")
    assert re.search(rf"^openai=={major}\.", pins, re.MULTILINE)
    [doors] = re.findall(r"^DOORS := (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert environment in doors.split()
