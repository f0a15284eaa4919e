"""`purser compress`, as a user runs it."""

import asyncio
import json
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from purser.context.conversation.messages import Message
from purser.context.tokens import count_message, count_text
from tests.client.relay import relaying
from tests.compose.conftest import System
from tests.support.context.conversations import talk, user
from tests.support.servers.clients import PATIENCE_S
from tests.support.servers.commands import Commands

MODEL = "gpt-4o"
RESULT = {"summary", "covers", "original_tokens", "summary_tokens", "method", "fault"}


RECORD = "Orders from 1000 on go to Haven in May, file numbers F-1 and on. They are never shipped by air."
SAID = "Ask anna.berg@example.org about ticket TCK-4711 of order 77."


@dataclass(frozen=True)
class Writer:
    """A model that writes summaries for commands."""

    purser: Commands
    api_base: str
    model: str
    """A model name that no other test uses."""

    @classmethod
    def at(cls, system: System, api_base: str) -> "Writer":
        """A model that is called at this address."""
        purser = Commands(system.purser.home, {**system.purser.env, "PURSER_SUMMARIZER_API_BASE": api_base})
        return cls(purser, api_base, f"openai/{uuid.uuid4().hex}")

    def replies(self, asked: str, answer: str) -> None:
        """Let the provider answer requests that contain a text."""
        match = {"model": self.model.removeprefix("openai/"), "text": asked}
        rule = {"match": match, "reply": {"content": answer}}
        url = f"{self.api_base.removesuffix('/v1')}/_control"
        httpx.post(url, json={"rules": [rule]}, timeout=PATIENCE_S).raise_for_status()

    def spent(self) -> Any:
        """Token balance of the session that commands use."""
        return self.purser.json("budget", "show", "session:cli")["tokens"]


@pytest.fixture
def writer(system: System) -> Writer:
    """A model of the tests' provider."""
    return Writer.at(system, system.api_base)


@pytest.fixture
def alone(tmp_path: Path) -> Commands:
    """Commands without any running system."""
    return Commands.at(tmp_path)


def written(folder: Path, messages: list[Message]) -> str:
    """Write a conversation file of these messages and return its path."""
    file = folder / "talk.jsonl"
    file.write_text("\n".join(json.dumps(message.to_dict()) for message in messages))
    return str(file)


def tokens(messages: list[Message]) -> int:
    """Total tokens of the messages."""
    return sum(count_message(message.to_openai(), MODEL).tokens for message in messages)


def compress(purser: Commands, file: str, budget: int, *more: str, code: int = 0) -> Any:
    """Run the command and return its JSON document."""
    return purser.json("compress", file, "--budget", str(budget), "--model", MODEL, *more, code=code)


def test_the_middle_of_a_conversation_is_summarized_and_the_result_fits(alone: Commands) -> None:
    messages = talk(120)
    found = compress(alone, written(alone.home, messages), 1_500)
    first, last = found["covers"]
    remaining = messages[:first] + messages[last + 1 :]
    assert set(found) == RESULT
    assert found["method"] == "extractive"
    assert found["original_tokens"] == tokens(messages[first : last + 1])
    assert first > 0
    assert last < len(messages) - 1
    assert 100 < found["summary_tokens"] + tokens(remaining) <= 1_500
    assert all(
        any(line.partition(": ")[2] in message.text for message in messages) for line in found["summary"].splitlines()
    )


def test_a_conversation_that_fits_needs_no_summary(alone: Commands) -> None:
    found = compress(alone, written(alone.home, talk(6)), 5_000)
    assert found == dict.fromkeys(RESULT, 0) | {"summary": "", "covers": None, "method": "none", "fault": None}


def test_a_text_is_compressed_as_one_passage(alone: Commands) -> None:
    file = alone.home / "notes.txt"
    file.write_text("It was a long day and nothing happened at all. " * 200 + "The code of Anna Berg is ZX-4417.")
    found = compress(alone, str(file), 60)
    assert "ZX-4417" in found["summary"]
    assert found["covers"] == [0, 0]
    assert found["original_tokens"] == count_text(file.read_text(), MODEL).tokens
    assert found["summary_tokens"] == count_text(found["summary"], MODEL).tokens <= 60


@pytest.mark.parametrize(
    ("name", "text", "budget"),
    [
        ("short.txt", SAID, 60),
        ("long.txt", SAID + " It was a long day and nothing happened at all." * 200, 60),
        ("talk.jsonl", "\n".join(json.dumps(one.to_dict()) for one in [*talk(60), user(SAID), *talk(60)]), 1_500),
    ],
)
def test_a_summary_is_redacted(tmp_path: Path, name: str, text: str, budget: int) -> None:
    (tmp_path / name).write_text(text)
    purser = Commands.at(tmp_path, redaction_patterns=r'{"TICKET": "TCK-\\d+"}')
    assert "Ask [EMAIL_1] about ticket [TICKET_1] of order 77." in compress(purser, name, budget)["summary"]


def test_what_cannot_fit_is_a_problem_that_names_it(alone: Commands) -> None:
    problem = compress(alone, written(alone.home, talk(120)), 5, code=1)
    assert "5 tokens" in problem["detail"]


def test_a_model_is_not_asked_without_a_running_system(alone: Commands) -> None:
    problem = compress(alone, written(alone.home, talk(120)), 1_500, "--summarizer", "openai/any", code=1)
    assert "purser up" in problem["remedy"]


@pytest.mark.stack
class TestAModel:
    """Summaries by a model, under a hold of a running system."""

    def test_it_writes_under_a_hold_that_is_settled(self, writer: Writer, tmp_path: Path) -> None:
        writer.replies("", RECORD)
        before = writer.spent()
        found = compress(writer.purser, written(tmp_path, talk(120)), 1_500, "--summarizer", writer.model)
        assert (found["method"], found["summary"]) == ("model", RECORD)
        after = writer.spent()
        assert after["spent"] > before["spent"]
        assert after["held"] == before["held"] == 0

    def test_a_window_asks_it_too(self, writer: Writer, tmp_path: Path) -> None:
        writer.replies("", RECORD)
        file = written(tmp_path, talk(120))
        window = writer.purser.json("window", file, "--budget", "1500", "--model", MODEL, "--summarizer", writer.model)
        assert any(RECORD in str(message["content"]) for message in window["messages"])
        assert (window["method"], window["fault"]) == ("model", None)

    def test_only_redacted_text_leaves(self, writer: Writer, tmp_path: Path) -> None:
        writer.replies("anna.berg@example.org", "Error: it leaked.")
        writer.replies("[EMAIL_1]", f"{RECORD} Write to [EMAIL_1].")
        messages = [*talk(60), user("My address is anna.berg@example.org, note it."), *talk(60)]
        found = compress(writer.purser, written(tmp_path, messages), 1_500, "--summarizer", writer.model)
        assert found["method"] == "model"
        assert "[EMAIL_1]" in found["summary"]

    @pytest.mark.parametrize(
        ("answer", "fault"),
        [("", "empty"), ("Error: model overloaded", "error_text"), ("word " * 5_000, "over_target")],
    )
    def test_a_rejected_summary_is_paid_for_and_an_extract_replaces_it(
        self, writer: Writer, tmp_path: Path, answer: str, fault: str
    ) -> None:
        writer.replies("", answer)
        before = writer.spent()
        found = compress(writer.purser, written(tmp_path, talk(120)), 1_500, "--summarizer", writer.model)
        assert (found["method"], found["fault"]) == ("extractive", fault)
        assert "Haven" in found["summary"]
        assert writer.spent()["spent"] > before["spent"]
        assert writer.spent()["held"] == 0

    def test_it_is_not_asked_where_the_budget_refuses(self, writer: Writer, tmp_path: Path) -> None:
        writer.purser.json("budget", "set", "session:cli", "--frozen")
        try:
            before = writer.spent()
            problem = compress(writer.purser, written(tmp_path, talk(120)), 1_500, "--summarizer", writer.model, code=1)
            assert problem["title"] == "BudgetRefused"
            assert "session:cli" in problem["detail"]
            assert problem["remedy"]
            assert writer.spent() == before
        finally:
            writer.purser.json("budget", "set", "session:cli", "--no-frozen")

    def test_an_unreachable_model_costs_nothing_and_is_replaced(self, system: System, tmp_path: Path) -> None:
        writer = Writer.at(system, "http://127.0.0.1:9")
        before = writer.spent()
        found = compress(writer.purser, written(tmp_path, talk(120)), 1_500, "--summarizer", writer.model)
        assert (found["method"], found["fault"]) == ("extractive", "unreachable")
        assert writer.spent() == before

    async def test_a_start_whose_answer_is_lost_costs_nothing_and_leaves_no_hold(
        self, writer: Writer, system: System, tmp_path: Path
    ) -> None:
        before, file = writer.spent(), written(tmp_path, talk(120))
        async with relaying(system.ready["gateway"]) as relay:
            relay.losing, relay.times = "/attempts", 1
            purser = Commands(
                system.purser.home,
                {**writer.purser.env, "PURSER_URL": relay.url, "PURSER_API_KEY": system.ready["admin_key"]},
            )
            ask = ("--summarizer", writer.model)
            problem = await asyncio.to_thread(compress, purser, file, 1_500, *ask, code=1)
        assert (problem["title"], len(relay.lost)) == ("Unreachable", 1)
        assert writer.spent() == before

    @pytest.mark.parametrize("words", [["compress"], ["window"], ["window", "--format", "text"]])
    def test_an_extract_in_place_of_a_model_s_summary_is_said(
        self, system: System, tmp_path: Path, words: list[str]
    ) -> None:
        writer = Writer.at(system, "http://127.0.0.1:9")
        options = ["--budget", "1500", "--model", MODEL, "--summarizer", writer.model]
        done = writer.purser.run(*words, written(tmp_path, talk(120)), *options)
        assert done.returncode == 0
        assert done.stderr == f"{writer.model} was not used: unreachable; the summary is an extract\n"
        found = writer.purser.json(*words, written(tmp_path, talk(120)), *options)
        assert (found["method"], found["fault"]) == ("extractive", "unreachable")
