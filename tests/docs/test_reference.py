"""The reference names every endpoint, activity, problem, setting and field, and nothing else."""

import re
from importlib.util import module_from_spec, spec_from_file_location
from inspect import signature
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pydantic import BaseModel

from purser.activities.tasks import vanished
from purser.activities.tasks.budgets import ScopeBudget
from purser.activities.tasks.file import Agent, ContextOptions, TaskFile, Tool
from purser.compose.settings import Settings
from purser.gateway.app import ROUTERS
from purser.gateway.health import health_router
from purser.gateway.http import problems
from purser_client import Purser

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [*DOCS.glob("**/*.md"), ROOT / "README.md"]


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    spec = spec_from_file_location("docs_generate", DOCS / "generate.py")
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["cli", "http", "temporal"])
def test_generated_pages_are_current(generate: ModuleType, name: str) -> None:
    assert (DOCS / "reference" / f"{name}.md").read_text() == getattr(generate, name)(), "run `python docs/generate.py`"


def test_every_activity_and_message_of_the_contract_is_in_the_reference(generate: ModuleType) -> None:
    from purser.workflows.contract import ActivityName, Message

    assert {name for name, _ in generate.defined()} == set(ActivityName)
    assert {name for _, _, name, _ in generate.messages()} == set(Message)


def test_every_endpoint_is_in_the_reference_and_none_that_is_not_there() -> None:
    listed = set(re.findall(r"`((?:GET|POST|PUT|PATCH|DELETE) /[^`?\s]*)`", _page("http.md")))
    assert listed == _endpoints()


def test_other_pages_name_endpoints_that_exist() -> None:
    there = {re.sub(r"\{\w+\}", "{}", endpoint) for endpoint in _endpoints()}
    for page in PAGES:
        for named in re.findall(r"`((?:GET|POST|PUT|PATCH|DELETE) /v1/[^`?\s]*)", page.read_text()):
            assert re.sub(r"\{\w+\}", "{}", named) in there, f"{page.name} names {named}"


def test_every_type_of_problem_is_in_the_reference_with_its_status() -> None:
    listed = set(re.findall(r"\| `urn:purser:([a-z-]+)` \| ([0-9, ]+) \| ([^|]+) \|", _page("http.md")))
    raised = {(kind.slug, str(kind.status), kind.title) for kind in problems._KINDS.values()}
    others = {"body-refused", "decision-refused", "too-many-requests", "internal", "not-ready", "method-not-allowed"}
    several = {row for row in raised if row[0] == "not-found"}
    assert {row for row in listed if row[0] not in others} - several == raised - several
    assert len(listed & several) == 1


@pytest.mark.parametrize(
    ("part", "heading"),
    [
        (TaskFile, "# Task file"),
        (ScopeBudget, "## `budget`, and `budget` of an agent"),
        (Agent, "## `agents[]`"),
        (Tool, "## `agents[].tools[]`"),
        (ContextOptions, "## `context`"),
    ],
)
def test_every_field_of_a_task_file_is_in_the_reference(part: type[BaseModel], heading: str) -> None:
    section = _page("task-file.md").split(heading + "\n", 1)[1].split("\n## ", 1)[0]
    rows = [row.split("|")[1] for row in section.splitlines() if row.startswith("| `")]
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == set(part.model_fields)


def test_every_option_of_a_call_is_on_the_page_of_the_python_client() -> None:
    page = (DOCS / "how-to" / "clients" / "python-client.md").read_text(encoding="utf-8")
    rows = page.split("\n| option | meaning |\n", 1)[1].split("\n\n", 1)[0].splitlines()[1:]
    options = signature(Purser.call).parameters.keys() - {"self", "path"}
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])} == options


def test_every_reason_for_which_a_task_without_workflow_ends_is_explained() -> None:
    page = (DOCS / "operations" / "troubleshooting.md").read_text(encoding="utf-8")
    assert not [reason for _, reason in (*vanished._ENDINGS.values(), vanished._LOST) if f"`{reason}`" not in page]


def test_settings_that_pages_name_exist() -> None:
    known = set(re.findall(r"`(PURSER_\w+)`", _page("settings.md")))
    assert {f"PURSER_{name.upper()}" for name in Settings.model_fields} <= known
    for page in PAGES:
        named = set(re.findall(r"\bPURSER_[A-Z_]*[A-Z]\b", page.read_text()))
        assert named <= known, f"{page.name} names {sorted(named - known)}"


def _endpoints() -> set[str]:
    routers = [*ROUTERS, health_router({})]
    routes: list[Any] = [route for router in routers for route in router.routes if route.include_in_schema]
    return {f"{method} {route.path.replace(':path', '')}" for route in routes for method in route.methods}


def _page(name: str) -> str:
    return (DOCS / "reference" / name).read_text(encoding="utf-8")
