"""`purser window`, as a user runs it: without any running system."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.context.conversations import talk
from tests.support.servers.commands import Commands

KEYS = ["messages", "tokens", "dropped", "summarised", "strategy", "reason", "method", "fault", "stats"]
MESSAGES = [
    {"role": "system", "content": "Be kind.", "note": "a field of others"},
    *(message.to_dict() for message in talk(27)),
]


@pytest.fixture
def purser(tmp_path: Path) -> Commands:
    (tmp_path / "talk.json").write_text(json.dumps(MESSAGES))
    return Commands.at(tmp_path)


def window(purser: Commands, *options: str, budget: int = 400, code: int = 0) -> dict[str, Any]:
    arguments = ("window", "talk.json", "--budget", str(budget), "--model", "gpt-4o", *options)
    document: dict[str, Any] = purser.json(*arguments, code=code)
    return document


def test_the_answer_has_these_keys_and_messages_as_the_file_has_them(purser: Commands) -> None:
    found = window(purser)
    assert list(found) == KEYS
    assert found["messages"][0] == MESSAGES[0]
    assert found["messages"][1]["content"].startswith("Summary of messages")
    assert all(message in MESSAGES for message in found["messages"][2:])
    assert (found["strategy"], found["reason"]) == ("three_part", "the default")
    assert (found["method"], found["fault"]) == ("extractive", None)
    assert found["tokens"] <= 400
    [(first, last)] = found["summarised"]
    assert len(found["messages"]) - 1 + (last - first + 1) == 28
    for name in ("optimization_applied", "messages_removed", "tokens_saved", "strategy_chosen", "strategy_reason"):
        assert name in found["stats"]


def test_fields_that_say_nothing_stay_as_the_file_has_them(purser: Commands, tmp_path: Path) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "Look.", "tool_calls": None},
        {"role": "assistant", "content": [], "tool_calls": [call]},
        {"role": "tool", "content": "", "tool_call_id": "c", "name": None},
    ]
    (tmp_path / "talk.json").write_text(json.dumps(messages))
    assert window(purser)["messages"] == messages


def test_of_a_clipped_message_only_the_content_differs(purser: Commands, tmp_path: Path) -> None:
    message = {"role": "user", "content": "word " * 900, "note": "a field of others"}
    (tmp_path / "talk.json").write_text(json.dumps([message]))
    [shown] = window(purser)["messages"]
    assert "tokens left out" in shown["content"]
    assert shown | {"content": message["content"]} == message


def test_old_results_are_cleared_and_a_result_without_its_call_is_what_a_tool_returned(
    purser: Commands, tmp_path: Path
) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    talk = [
        {"role": "user", "content": "Read it."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": "word " * 500, "tool_call_id": "c"},
        {"role": "tool", "content": "late", "tool_call_id": "x", "note": "a field of others"},
        {"role": "user", "content": "And?"},
    ]
    (tmp_path / "talk.json").write_text(json.dumps(talk))
    found = window(purser, "--strategy", "token_truncation")
    _, _, cleared, late, _ = found["messages"]
    assert cleared["content"].startswith("[505 tokens left out of message")
    assert late["role"] == "user"
    assert (late.get("tool_call_id"), late["note"]) == (None, "a field of others")


def test_a_strategy_and_a_preset_are_chosen_by_name(purser: Commands) -> None:
    found = window(purser, "--strategy", "smart_truncation", budget=2_000)
    assert len(found["messages"]) == 17
    assert found["dropped"][0] == {"index": 2, "reason": "older_than_rounds"}
    assert window(purser, "--preset", "cookhero", budget=2_000)["summarised"] == [[1, 12]]
    unsummarized = window(purser, "--summarizer", "none")
    assert (unsummarized["summarised"], unsummarized["method"]) == ([], "none")


def test_what_cannot_fit_is_a_problem_that_names_it(purser: Commands) -> None:
    problem = window(purser, budget=40, code=1)
    assert problem["type"] == "urn:purser:window-too-small"
    assert "newest user message, index 27" in problem["detail"]


def test_bad_usage_is_its_own_type_of_problem(purser: Commands) -> None:
    assert window(purser, "--strategy", "best", code=2)["type"] == "urn:purser:bad-usage"
    assert window(purser, "--preset", "best", code=2)["type"] == "urn:purser:bad-usage"


def test_text_for_routers_fits_the_same_budget(purser: Commands) -> None:
    found = window(purser, "--format", "text")
    assert found["text"].startswith("[Earlier conversation summary (")
    assert "USER: Please note that order 1026" in found["text"]
    assert found["tokens"] <= 400


def test_a_recommendation_builds_nothing_and_includes_tool_safety(purser: Commands) -> None:
    found = window(purser, "--recommend", "--tools", "3")
    assert found["needs_optimization"] is True
    assert found["recommended_strategy"] == "smart_truncation"
    assert found["tool_safety"]["safe"] is False
    assert "messages" not in found
    roomy = window(purser, "--recommend", "--tools", "3", budget=2_500)
    assert roomy["needs_optimization"] is False
    assert roomy["tool_safety"]["safe"] is True


def test_plain_text_is_not_a_conversation(purser: Commands, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("hello")
    problem = purser.json("window", "note.txt", "--budget", "100", "--model", "gpt-4o", code=1)
    assert problem["type"] == "urn:purser:unreadable-file"


def test_people_see_roles_and_figures(purser: Commands) -> None:
    shown = purser.run("window", "talk.json", "--budget", "400", "--model", "gpt-4o").stdout
    assert "Be kind." in shown
    assert "messages removed" in shown


def test_4a_figures_of_a_strategy_are_options(purser: Commands) -> None:
    rounds = ("--strategy", "sliding_window", "--set", "keeps_first_request=false", "--rounds")
    assert [len(window(purser, *rounds, number, budget=9_000)["messages"]) for number in ("2", "5")] == [4, 10]
    found = window(purser, "--preset", "cookhero", "--recents-count", "4", "--set", "batch_count=2", budget=9_000)
    # The system message, the summary, and 4 or 5 of the 27 others.
    assert len(found["messages"]) == 2 + 5
    order = "newest,memory,conversation,summary,settings,system"
    assert window(purser, "--order", order)["messages"][-1] == MESSAGES[0]
    assert window(purser, "--set", "rounds=none", code=1)["detail"].startswith("window.rounds")
    assert "--set" in window(purser, "--set", "rounds", code=1)["detail"]


def test_000_5_text_without_a_budget_takes_that_of_routers(purser: Commands, tmp_path: Path) -> None:
    arguments = ("window", "talk.json", "--model", "gpt-4o", "--format", "text")
    small = Commands.at(tmp_path, router_history_token_budget="120")
    assert 60 < small.json(*arguments)["tokens"] <= 120
    assert 400 < purser.json(*arguments)["tokens"] <= 8_000
