"""Workflow code is deterministic: it has no clock, environment, file or random source of its own."""

import ast
from pathlib import Path

import pytest

import purser.workflows

MODULES = sorted(Path(purser.workflows.__file__).parent.glob("*.py"))
SOURCES = {"os", "pathlib", "random", "secrets", "socket", "subprocess", "sys", "tempfile", "threading", "time"}
"""Modules whose answers differ from run to run."""
CALLS = {"now", "today", "utcnow", "uuid1", "uuid4", "open", "input", "getenv"}
"""Functions whose answers do, except those of Temporal's `workflow`."""


def differing(source: str) -> list[str]:
    """What may differ from run to run in the code of a module."""
    found = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                found += [name.name for name in names if name.name.partition(".")[0] in SOURCES]
            case ast.ImportFrom(module=str(module)) if module.partition(".")[0] in SOURCES:
                found.append(module)
            case ast.Call(func=ast.Name(id=name)) if name in CALLS:
                found.append(name)
            case ast.Call(func=ast.Attribute(value=owner, attr=name)) if name in CALLS:
                if not (isinstance(owner, ast.Name) and owner.id == "workflow"):
                    found.append(name)
    return found


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.stem)
def test_a_module_of_workflows_answers_the_same_in_every_run(module: Path) -> None:
    assert differing(module.read_text()) == []


@pytest.mark.parametrize(
    "source",
    ["import time", "from os import path", "datetime.now()", "uuid.uuid4()", "open('f')", "import random as r"],
)
def test_what_differs_is_found(source: str) -> None:
    assert len(differing(source)) == 1
