"""The optimizer: making a conversation fit in one call."""

import asyncio
import json
import re
import shelve
from pathlib import Path
from typing import Any

import pytest

from purser.context.conversation.messages import Message
from purser.context.errors import InvalidMessage, InvalidSettings, WindowTooSmall
from purser.context.tokens import count_request
from purser.context.windows.advice import TOOL_RESERVE
from purser.context.windows.optimizing import Optimizer, optimize, optimize_chat_context

MODEL = "gpt-4o"
KEYS = {
    "optimization_applied", "messages_removed", "tokens_saved", "strategy_chosen", "strategy_reason",
    "summary_generated",
}  # fmt: skip


def dialogue(count: int, words: int = 60) -> list[dict[str, Any]]:
    """A system message and a conversation that begins and, with an even count, ends with the user."""
    said = [
        {"role": "assistant" if place % 2 else "user", "content": f"message {place}: " + "word " * words}
        for place in range(count - 1)
    ]
    return [{"role": "system", "content": "You are helpful."}, *said]


def summary(text: str) -> str:
    return "They talked about words."


def tokens(messages: list[dict[str, Any]]) -> int:
    return count_request(messages, [], MODEL).tokens


# --- what fits -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("messages", "max_tokens"), [([], 4_096), ([], 1), (dialogue(5), 4_096), (dialogue(60), 128_000)]
)
def test_what_fits_next_to_the_reply_is_returned_unchanged(messages: list[dict[str, Any]], max_tokens: int) -> None:
    shown, stats = optimize(messages, max_tokens)
    assert shown == messages
    assert stats.keys() >= KEYS
    assert (stats["optimization_applied"], stats["messages_removed"], stats["strategy_chosen"]) == (False, 0, "none")


def test_what_does_not_is_cut_down_to_the_limit_less_the_reserve() -> None:
    messages = dialogue(60)
    shown, stats = optimize(messages, 2_500, preference="fast")
    assert tokens(shown) == stats["tokens"] <= 500 == stats["bound_tokens"]
    assert stats.keys() >= KEYS
    assert stats["tokens_saved"] == tokens(messages) - tokens(shown)
    assert stats["messages_removed"] == 60 - len(shown)
    assert shown[0] == messages[0]
    assert shown[-1] == messages[-1]
    json.dumps(stats)


def test_where_what_must_stay_exceeds_the_rest_the_limit_itself_is_the_bound_and_stats_say_so() -> None:
    messages = dialogue(28)
    _, stats = optimize(messages, 2_050)
    assert stats["bound_tokens"] == 2_050
    assert "next to the reply there are 50 tokens, so the limit itself is the bound" in stats["strategy_reason"]
    with pytest.raises(WindowTooSmall, match="budget of 50 tokens"):
        optimize(messages, 50)


def test_messages_of_either_form_are_taken_and_dictionaries_come_back_untouched() -> None:
    extra = [{"role": "user", "content": "hello", "name": None}]
    assert optimize(extra, 4_096)[0] == extra
    assert optimize([Message("user", "hello")], 4_096)[0] == [{"role": "user", "content": "hello"}]
    with pytest.raises(InvalidMessage, match="message 0"):
        optimize([{"role": "nobody", "content": ""}])
    with pytest.raises(InvalidSettings, match="max_tokens"):
        optimize([], 0)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"max_tokens": "50"}, "max_tokens '50' is not valid: use a whole number, 1 or more"),
        ({"max_tokens": 50.5}, "max_tokens 50.5 is not valid: use a whole number, 1 or more"),
        ({"max_tokens": True}, "max_tokens True is not valid: use a whole number, 1 or more"),
        ({"planned_tools": -1}, "planned_tools -1 is not valid: use a whole number, 0 or more"),
        ({"preference": "foo"}, "preference 'foo' is not known: use one of fast, balanced, quality"),
        ({"preference": None}, "preference None is not known: use one of fast, balanced, quality"),
        ({"summarize": "x"}, "summarize 'x' is not valid: use a function of a text, or None"),
    ],
)
@pytest.mark.parametrize("size", [3, 60])
def test_a_setting_that_is_not_valid_is_named_whether_or_not_it_is_needed(
    size: int, given: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidSettings, match=re.escape(said)):
        optimize(dialogue(size), **given)
    with pytest.raises(InvalidSettings, match=re.escape(said)):
        asyncio.run(Optimizer().optimize_async(dialogue(size), **given))


@pytest.mark.parametrize("messages", [None, "hello", {"role": "user", "content": "hello"}])
def test_what_is_no_list_of_messages_is_refused(messages: Any) -> None:
    with pytest.raises(InvalidMessage, match=rf"messages: {type(messages).__name__} is not valid, use a list"):
        optimize(messages)


def test_other_texts_of_the_request_and_planned_tools_count() -> None:
    messages, room = dialogue(20), 2_000 + tokens(dialogue(20))
    assert not optimize(messages, room)[1]["optimization_applied"]
    for counted in ({"knowledge_context": "fact"}, {"web_context": "page"}, {"planned_tools": 1}):
        shown, stats = Optimizer().optimize(messages, room, **counted)
        assert stats["optimization_applied"]
        assert tokens(shown) < stats["tokens"] <= stats["bound_tokens"] == room - 2_000
    assert optimize(messages, room + TOOL_RESERVE, planned_tools=1)[0] == messages
    with pytest.raises(WindowTooSmall, match="knowledge, web context and planned tools: 9"):
        optimize(messages, 500, knowledge_context="word " * 900)


# --- summaries -------------------------------------------------------------------------------------------------------


def test_a_summary_has_a_header_with_true_lengths() -> None:
    asked: list[str] = []

    def remember(text: str) -> str:
        asked.append(text)
        return summary(text)

    shown, stats = optimize(dialogue(60), 4_096, remember, preference="quality")
    assert stats["summary_generated"]
    assert stats["strategy_chosen"] == "summary"
    written = next(message["content"] for message in shown if summary("") in message["content"])
    assert f"source {len(asked[-1])} characters, summary {len(summary(''))} characters" in written
    assert tokens(shown) <= 2_096


def test_a_summarizer_with_two_parameters_gets_the_number_of_characters() -> None:
    requested: list[int] = []

    def remember(text: str, characters: int) -> str:
        requested.append(characters)
        return summary(text)

    optimize(dialogue(60), 4_096, remember, preference="quality")
    assert requested
    assert set(requested) == {800}


def test_a_conversation_is_summarized_three_times_and_then_truncated() -> None:
    optimizer = Optimizer()
    made = [optimizer.optimize(dialogue(60), 4_096, summary, "c1", "quality")[1] for _ in range(4)]
    assert [stats["summary_generated"] for stats in made] == [True, True, True, False]
    assert "already summarized 3 times" in made[3]["strategy_reason"]
    assert optimizer.recommend(dialogue(60), 4_096, "c1", "quality").recommended_strategy == "smart_truncation"
    assert optimizer.recommend(dialogue(60), 4_096, "c2", "quality").recommended_strategy == "summary"
    others = [optimizer.optimize(dialogue(60), 4_096, summary, None, "quality")[1] for _ in range(4)]
    assert all(stats["summary_generated"] for stats in others), "without an id nothing is remembered"


def test_the_count_of_summaries_outlives_the_process_where_its_mapping_does(tmp_path: Path) -> None:
    for expected in (True, True, True, False):
        with shelve.open(tmp_path / "summaries") as counts:
            _, stats = Optimizer(counts).optimize(dialogue(60), 4_096, summary, "c1", "quality")
        assert stats["summary_generated"] is expected


@pytest.mark.parametrize(
    ("written", "fault"),
    [("", "empty"), ("Error: 500", "error_text"), ("word " * 9_000, "longer"), (None, "AttributeError")],
)
def test_a_text_that_is_no_summary_leads_to_truncation(written: Any, fault: str) -> None:
    shown, stats = optimize(dialogue(60), 4_096, lambda text: written, preference="quality")
    assert (stats["summary_generated"], stats["strategy_chosen"]) == (False, "smart_truncation")
    assert f"no summary ({fault}), emergency truncation" in stats["strategy_reason"]
    assert tokens(shown) <= 2_096


def test_a_summarizer_that_raises_is_asked_once_and_never_heard_of() -> None:
    calls = 0

    def fails(text: str) -> str:
        nonlocal calls
        calls += 1
        raise ConnectionError(text)

    shown, stats = optimize(dialogue(60, words=400), 4_096, fails, preference="quality")
    assert calls == 1
    assert stats["strategy_reason"].endswith("no summary (ConnectionError), emergency truncation")
    assert tokens(shown) <= 2_096


# --- awaited ---------------------------------------------------------------------------------------------------------


async def test_a_summarizer_may_be_awaited() -> None:
    async def remember(text: str) -> str:
        await asyncio.sleep(0)
        return summary(text)

    optimizer = Optimizer()
    awaited = await optimizer.optimize_async(dialogue(60), 4_096, remember, None, "quality")
    assert awaited == optimizer.optimize(dialogue(60), 4_096, summary, None, "quality")
    assert not (await optimizer.optimize_async(dialogue(60), 4_096))[1]["summary_generated"]


async def test_one_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("purser.context.windows.optimizing.SUMMARY_TIMEOUT_S", 0.01)

    async def hangs(text: str) -> str:
        await asyncio.Event().wait()
        return ""

    _, stats = await Optimizer().optimize_async(dialogue(60), 4_096, hangs, None, "quality")
    assert "no summary (TimeoutError), emergency truncation" in stats["strategy_reason"]


def test_the_other_names_do_the_same() -> None:
    arguments = (dialogue(60), 4_096, summary, None, "quality")
    assert optimize_chat_context(*arguments) == optimize(*arguments)
