"""Completion of commands in a shell."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.servers.commands import Commands


@pytest.mark.parametrize(
    ("typed", "offered"), [("purser bud", ["budget"]), ("purser budget e", ["export"]), ("purser run --j", ["--json"])]
)
def test_the_shell_completes_commands_and_options(tmp_path: Path, typed: str, offered: list[str]) -> None:
    words = {"COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1), "_PURSER_COMPLETE": "complete_bash"}
    purser = Commands.at(tmp_path)
    answer = replace(purser, env={**purser.env, **words}).run()
    assert (answer.returncode, answer.stdout.split()) == (0, offered)
