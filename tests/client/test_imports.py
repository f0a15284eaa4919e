"""The client knows nothing of the server, and the server does not depend on the client."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "client" / "purser_client"
EXAMPLES = ROOT / "docs" / "examples"
OWN = {"first.py", "own_conversation.py"}
"""Examples that run a part of Purser itself: its provider for trials, and its windows without any service."""
FENCE = re.compile(r"^ *```python\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
PLACES = (ROOT, ROOT / "client")
LIGHT = ("__init__", "addresses", "enums", "image_rules", "images", "limits", "storable")
"""Modules of `wire` that need the standard library only."""
SERVER = ("budget", "context", "activities", "workflows", "gateway", "compose", "benchmarks")


EXTRAS = {
    "google_adk": {"google"},
    "langchain": {"langchain", "langchain_core", "langgraph"},
    "litellm": {"litellm"},
    "mcp": {"mcp"},
    "temporal": {"temporalio"},
    "openai_agents": {"agents", "openai"},
    "pydantic_ai": {"pydantic_ai"},
}
"""What the package of an extra may import besides."""


def test_the_client_imports_httpx_and_pydantic_only() -> None:
    found = {(file.relative_to(CLIENT), name) for file in CLIENT.rglob("*.py") for name in _imports(file)}
    assert found
    allowed = {"purser_client", "httpx", "pydantic", *sys.stdlib_module_names}
    assert {(file, name) for file, name in found if name not in allowed | EXTRAS.get(file.parts[0], set())} == set()


def test_nothing_outside_an_extra_imports_it() -> None:
    files = [file for file in CLIENT.rglob("*.py") if file.relative_to(CLIENT).parts[0] not in EXTRAS]
    assert files
    text = "\n".join(file.read_text("utf-8") for file in files)
    assert [extra for extra in EXTRAS if f"purser_client.{extra}" in text] == []


def test_an_extra_asks_for_what_the_server_is_tested_with() -> None:
    server, client = (tomllib.loads((place / "pyproject.toml").read_text("utf-8"))["project"] for place in PLACES)
    extras = client["optional-dependencies"]
    assert {name.replace("-", "_") for name in extras} == EXTRAS.keys()
    assert set(extras["temporal"]) <= set(server["dependencies"])


def test_the_server_does_not_import_the_client() -> None:
    files = [file for package in SERVER for file in (ROOT / package).rglob("*.py")]
    assert files
    naming = [file for file in files if "purser_client" in file.read_text("utf-8")]
    assert [file for file in naming if "purser_client" in _imports(file)] == []


def test_who_embeds_imports_the_client_and_nothing_of_the_server() -> None:
    assert {file.name for file in EXAMPLES.rglob("*.py") if {"purser", *SERVER} & set(_imports(file))} == OWN
    pages = [*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md"), CLIENT.parent / "README.md"]
    code = "\n".join(fence for page in pages for fence in FENCE.findall(page.read_text("utf-8")))
    assert "Purser() as purser" in code
    assert set(re.findall(r"^ *(?:from|import) +purser\b.*", code, re.MULTILINE)) == {"from purser import context"}


def test_the_types_that_the_server_shares_import_pydantic_and_each_other_only() -> None:
    files = [*(CLIENT / "wire").glob("*.py")]
    assert (ROOT / "purser" / "wire").resolve() == CLIENT / "wire"
    assert {name for file in files for name in _imports(file)} <= {"pydantic", *sys.stdlib_module_names}
    light = [CLIENT / "wire" / f"{name}.py" for name in LIGHT]
    assert {name for file in light for name in _imports(file)} <= {*sys.stdlib_module_names}


def test_the_contract_is_that_of_the_workflows_and_needs_the_standard_library_only() -> None:
    contract = CLIENT / "contract.py"
    assert contract.resolve() == ROOT / "workflows" / "contract.py"
    assert set(_imports(contract)) <= set(sys.stdlib_module_names)
    for statuses in (CLIENT / "statuses.py", ROOT / "workflows" / "statuses.py"):
        assert (
            re.findall(r"^from (\S+) import", statuses.read_text("utf-8"), re.MULTILINE)
            == [f"{'purser_client' if CLIENT in statuses.parents else 'purser'}.wire.enums"] * 2
        )


def _imports(file: Path) -> Iterator[str]:
    """Top-level names that a file imports."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        match node:
            case ast.Import(names=names):
                yield from (one.name.partition(".")[0] for one in names)
            case ast.ImportFrom(module=str(module), level=0):
                yield module.partition(".")[0]
