"""The threat model names a test for each guard, and each named test exists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)))
ROWS = [
    line.split("|")[1:-1]
    for section in PAGE.split("\n## ")
    if "\n| what is checked | test |\n" in section
    for line in section.splitlines()
    if line.startswith("| ") and not line.startswith(("| what is checked", "| ---"))
]


@pytest.mark.parametrize(("file", "name"), NAMED, ids=[name for _, name in NAMED])
def test_a_named_test_exists(file: str, name: str) -> None:
    assert re.search(rf"^ *(async )?def {name}\(", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE), file


def test_every_guard_has_a_test() -> None:
    assert len(ROWS) > 25
    assert [guard for guard, tests in ROWS if "::" not in tests] == []
