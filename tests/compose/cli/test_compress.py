"""`purser compress`, as a user runs it."""

import json
from pathlib import Path
from typing import Any

import pytest

from context.messages import Message
from context.tokens import count_message, count_text
from tests.compose.cli.conftest import System
from tests.support.conversations import talk
from tests.support.purser import Purser

MODEL = "gpt-4o"
RESULT = {"summary", "covers", "original_tokens", "summary_tokens", "method"}


@pytest.fixture
def alone(tmp_path: Path) -> Purser:
    """Commands without any running system."""
    return Purser.at(tmp_path)


def written(folder: Path, messages: list[Message]) -> str:
    """A conversation file of these messages."""
    file = folder / "talk.jsonl"
    file.write_text("\n".join(json.dumps(message.to_dict()) for message in messages))
    return str(file)


def tokens(messages: list[Message]) -> int:
    """Of all of them."""
    return sum(count_message(message.to_openai(), MODEL).tokens for message in messages)


def compress(purser: Purser, file: str, budget: int, *more: str, code: int = 0) -> Any:
    """What the command prints."""
    return purser.json("compress", file, "--budget", str(budget), "--model", MODEL, *more, code=code)


def test_the_middle_of_a_conversation_is_summarised_and_the_result_fits(alone: Purser) -> None:
    messages = talk(120)
    found = compress(alone, written(alone.home, messages), 1_500)
    first, last = found["covers"]
    kept = messages[:first] + messages[last + 1 :]
    assert set(found) == RESULT
    assert found["method"] == "extractive"
    assert found["original_tokens"] == tokens(messages[first : last + 1])
    assert first > 0
    assert last < len(messages) - 1
    assert 100 < found["summary_tokens"] + tokens(kept) <= 1_500
    assert all(
        any(line.partition(": ")[2] in message.text for message in messages) for line in found["summary"].splitlines()
    )


def test_a_conversation_that_fits_needs_no_summary(alone: Purser) -> None:
    found = compress(alone, written(alone.home, talk(6)), 5_000)
    assert found == {"summary": "", "covers": None, "original_tokens": 0, "summary_tokens": 0, "method": "none"}


def test_a_text_is_compressed_as_one_passage(alone: Purser) -> None:
    file = alone.home / "notes.txt"
    file.write_text("It was a long day and nothing happened at all. " * 200 + "The code of Anna Berg is ZX-4417.")
    found = compress(alone, str(file), 60)
    assert "ZX-4417" in found["summary"]
    assert found["covers"] == [0, 0]
    assert found["original_tokens"] == count_text(file.read_text(), MODEL).tokens
    assert found["summary_tokens"] == count_text(found["summary"], MODEL).tokens <= 60


def test_what_cannot_fit_is_a_problem_that_names_it(alone: Purser) -> None:
    problem = compress(alone, written(alone.home, talk(120)), 5, code=1)
    assert "5 tokens" in problem["detail"]


def test_a_model_is_not_asked_without_a_running_system(alone: Purser) -> None:
    problem = compress(alone, written(alone.home, talk(120)), 1_500, "--summarizer", "openai/any", code=1)
    assert "purser up" in problem["remedy"]


@pytest.mark.stack
class TestAModel:
    """Under a hold of a running system."""

    def test_it_is_asked_under_a_hold_that_is_settled(self, system: System, tmp_path: Path) -> None:
        purser = with_provider(system)
        before = spent(purser)
        found = compress(purser, written(tmp_path, talk(120)), 1_500, "--summarizer", "openai/any")
        assert found["method"] in ("model", "extractive")
        assert found["summary"]
        after = spent(purser)
        assert after["spent"] > before["spent"]
        assert after["held"] == before["held"] == 0

    def test_it_is_not_asked_where_the_budget_refuses(self, system: System, tmp_path: Path) -> None:
        purser = with_provider(system)
        purser.json("budget", "set", "session:cli", "--frozen")
        try:
            before = spent(purser)
            problem = compress(purser, written(tmp_path, talk(120)), 1_500, "--summarizer", "openai/any", code=1)
            assert problem["title"] == "BudgetRefused"
            assert "session:cli" in problem["detail"]
            assert problem["remedy"]
            assert spent(purser) == before
        finally:
            purser.json("budget", "set", "session:cli", "--no-frozen")

    def test_a_model_that_is_away_costs_nothing_and_an_extract_stands_in(self, system: System, tmp_path: Path) -> None:
        purser = Purser(system.purser.home, {**system.purser.env, "PURSER_SUMMARIZER_API_BASE": "http://127.0.0.1:9"})
        before = spent(purser)
        found = compress(purser, written(tmp_path, talk(120)), 1_500, "--summarizer", "openai/any")
        assert found["method"] == "extractive"
        assert spent(purser) == before


def with_provider(system: System) -> Purser:
    """Commands whose summarizer is the provider of the tests."""
    return Purser(system.purser.home, {**system.purser.env, "PURSER_SUMMARIZER_API_BASE": system.api_base})


def spent(purser: Purser) -> Any:
    """Tokens of the session of commands."""
    return purser.json("budget", "show", "session:cli")["tokens"]
