"""`purser demo` with a model of a real provider."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.servers.commands import Commands
from tests.support.servers.forked import Forks


@pytest.mark.parametrize("command", [("demo",), ("bench", "summaries")])
@pytest.mark.parametrize("model", ["", "http://llm:4010"])
def test_what_cannot_be_a_model_is_refused_before_anything_starts(
    tmp_path: Path, command: tuple[str, ...], model: str
) -> None:
    problem = Commands.at(tmp_path).json(*command, "--model", model, code=2)
    assert problem["detail"].startswith("Invalid value for '--model': ")


@pytest.mark.stack
@pytest.mark.proof
def test_without_a_key_it_says_which_variable_to_set(tmp_path: Path, forks: Forks) -> None:
    purser = forks.purser(tmp_path)
    keyless = replace(purser, env={name: value for name, value in purser.env.items() if name != "OPENAI_API_KEY"})
    done = keyless.run("demo", "--model", "openai/gpt-4o-mini")
    assert done.returncode == 1
    shown = " ".join(done.stderr.split())
    assert "lead failed: authentication. No key is configured for the provider" in shown
    assert "such as OPENAI_API_KEY" in shown
