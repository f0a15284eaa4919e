"""Links in the documentation resolve, and its commands, JSON and code are valid."""

import json
import re
import shlex
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer

from purser.activities.tasks.file import TaskFile
from purser.budget.policies.policy import PolicyPatch
from purser.budget.postgres.events.events import Event, EventKind
from purser.budget.pricing.price_book import PriceBook
from purser.compose.cli import build
from purser.compose.demo.provider.script import Script
from purser.gateway.access.sealing import Seal
from purser.gateway.approvals.links import ApprovalLinks
from purser.gateway.webhooks.messages import payload

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("docs/**/*.md"), *ROOT.glob("*.md"), ROOT / "client" / "README.md"])
EXAMPLES = ROOT / "docs" / "examples"
FENCE = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[[^\]]+\]\(([^)\s]+)\)")
INLINE = re.compile(r"`([^`\n]+)`")
URL = "https://purser.example.com"
SENT = {"state": "pending", "approval_id": "a", "deadline": "2026-11-20T12:30:00+00:00", "cause": "asked"} | {
    name: {"tokens": 1, "nano_usd": 0} for name in ("asked", "given", "spent", "held", "granted", "limit")
}
LOOPBACK = ("http://127.0.0.1:4010",)


def _prose(page: Path) -> str:
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def _fences(page: Path) -> list[tuple[str, str]]:
    return FENCE.findall(page.read_text(encoding="utf-8"))


def _anchors(page: Path) -> set[str]:
    """Anchors of the headings of a page, as GitHub generates them."""
    headings = re.findall(r"^#+ (.+)$", _prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def _commands(page: Path) -> Iterator[str]:
    """Command lines of `purser` in code blocks and inline code."""
    for language, text in _fences(page):
        if language in ("", "sh"):
            joined = text.replace("\\\n", " ").splitlines()
            yield from (line.strip() for line in joined if line.strip().startswith("purser "))
    yield from (code for code in INLINE.findall(_prose(page)) if re.fullmatch(r"purser [a-z]+ .*[^:]", code))


@cache
def _purser() -> Any:
    """The command with all of its subcommands."""
    return typer.main.get_command(build())


def _parse(line: str) -> None:
    """Parse a command line as `purser` does, without running it; raises an error if it is invalid."""
    command = _purser()
    name, *words = shlex.split(line, comments=True)
    context = None
    while hasattr(command, "commands"):
        context = command.make_context(name, words[:0], parent=context, resilient_parsing=True)
        name, command, words = command.resolve_command(context, words)
    command.make_context(name, words, parent=context)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_pages_and_headings_that_exist(page: Path) -> None:
    for target in LINK.findall(_prose(page)):
        if target.startswith(("https://", "http://")):
            continue
        name, _, anchor = target.partition("#")
        found = (page.parent / name).resolve() if name else page
        assert found.exists(), f"{target} of {page.name} leads nowhere"
        assert not anchor or anchor in _anchors(found), f"{target} of {page.name}: no such heading"


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached, left = set[Path](), [ROOT / "README.md"]
    while left:
        page = left.pop()
        reached.add(page)
        targets = (target.partition("#")[0] for target in LINK.findall(_prose(page)) if "://" not in target)
        left += [
            found
            for target in targets
            if (found := (page.parent / target).resolve()).suffix == ".md" and found not in reached
        ]
    assert not [page for page in (ROOT / "docs").glob("**/*.md") if page not in reached]


@pytest.mark.parametrize("example", ["first.json", "weather.json"])
def test_example_tasks_are_accepted(example: str) -> None:
    TaskFile.parse(json.loads((EXAMPLES / example).read_text()), LOOPBACK)


def test_the_example_script_is_accepted_by_the_provider() -> None:
    assert Script.model_validate_json((EXAMPLES / "weather_script.json").read_text()).rules


def test_json_in_pages_is_accepted_by_what_it_is_for(tmp_path: Path) -> None:
    shown = [json.loads(text) for page in PAGES for language, text in _fences(page) if language == "json"]
    assert shown
    for value in shown:
        _accept(value, tmp_path)


def test_python_in_pages_is_part_of_an_example_that_runs() -> None:
    lines = {line.strip() for example in EXAMPLES.rglob("*.py") for line in example.read_text().splitlines()}
    shown = [line.strip() for page in PAGES for language, text in _fences(page) if language == "python"
             for line in text.splitlines()]  # fmt: skip
    assert shown
    assert not [line for line in shown if line not in lines | {"", "..."}]


@pytest.mark.parametrize("line", sorted({one for page in PAGES for one in _commands(page)}))
def test_purser_accepts_each_command_that_is_shown(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    _parse(line)


def _accept(value: dict[str, Any], tmp_path: Path) -> None:
    match value:
        case {"rules": _}:
            Script.model_validate(value)
        case {"budget": _}:
            agent = {"id": "a", "model": "gpt-4o", "instructions": "Answer."}
            TaskFile.parse({"session_id": "s", "task_id": "t", "input": "Hello.", "agents": [agent], **value}, ())
        case {"mode": _}:
            PolicyPatch.parse(value)
        case {"type": "approval.pending"}:
            event = Event(1, datetime.now(UTC), "t", EventKind.APPROVAL, "session:s1", SENT)
            assert value.keys() == {"id", *payload(event, None, URL, event.at, ApprovalLinks(Seal(), URL))}
        case _:
            prices = tmp_path / "prices.json"
            prices.write_text(json.dumps(value))
            assert PriceBook.load(prices).price(next(iter(value))).cost is not None
