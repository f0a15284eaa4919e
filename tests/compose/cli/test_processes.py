"""Commands as processes: the installed `purser` has the same output and exit code as its entry point inside a test."""

import json

import pytest

from tests.compose.conftest import System
from tests.support.servers.commands import Commands
from tests.support.servers.purser import Purser

pytestmark = pytest.mark.stack


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("approvals list --state expired", 0),
        ("budget show session:of-no-other-test --json", 0),
        ("tokens talk.json --model gpt-4o", 0),
        ("redact talk.json --json", 0),
        ("window talk.json --budget 5 --model gpt-4o --json", 1),
        ("tasks show nothing", 1),
        ("keys create", 2),
    ],
)
def test_a_process_says_the_same(system: System, line: str, code: int) -> None:
    commands, purser = Commands(system.purser.home, system.purser.env), Purser(system.purser.home, system.purser.env)
    (commands.home / "talk.json").write_text(json.dumps([{"role": "user", "content": "Write to 安娜 <a@b.example>."}]))
    here, there = commands.run(*line.split()), purser.run(*line.split())
    assert (there.returncode, there.stdout, there.stderr) == (code, here.stdout, here.stderr)
    assert here.returncode == code
