"""Advice: dry runs, and room for planned tool calls."""

import pytest

from purser.budget import Pressure
from purser.context.conversation.messages import Message
from purser.context.errors import InvalidMessage, InvalidSettings
from purser.context.strategies.choice import Preference
from purser.context.tokens import count_request
from purser.context.windows.advice import TOOL_RESERVE, available, check_tool_safety, recommend, tool_safety


def dialogue(messages: int, words: int = 20) -> list[dict[str, str]]:
    """A conversation of equal messages."""
    return [{"role": "assistant" if place % 2 else "user", "content": "word " * words} for place in range(messages)]


def test_a_conversation_that_fits_needs_nothing() -> None:
    found = recommend(dialogue(3), 128_000)
    assert (found.needs_optimization, found.recommended_strategy, found.urgency) == (False, "none", Pressure.LOW)
    assert found.tokens == count_request(dialogue(3), [], "gpt-4o").tokens
    assert found.available_tokens == 126_000
    assert recommend([], 4_096).needs_optimization is False


def test_a_conversation_that_does_not_fit_gets_a_strategy_and_a_reason() -> None:
    found = recommend(dialogue(60, 100), 4_096, preference="quality")
    assert (found.needs_optimization, found.recommended_strategy, found.urgency) == (True, "summary", Pressure.CRITICAL)
    assert found.usage_ratio == found.tokens / 2_096
    assert "60 messages" in found.reason
    assert recommend(dialogue(60, 100), 4_096, preference=Preference.FAST).recommended_strategy == "smart_truncation"
    assert recommend(dialogue(60, 100), 4_096, can_summarize=False).recommended_strategy == "smart_truncation"
    assert recommend(dialogue(60, 100), 4_096, summaries=3).recommended_strategy == "smart_truncation"


@pytest.mark.parametrize(
    ("share", "urgency"), [(0.4, "low"), (0.6, "medium"), (0.8, "high"), (0.95, "critical"), (2.0, "critical")]
)
def test_urgency_is_the_ratio_in_words(share: float, urgency: str) -> None:
    tokens = recommend(dialogue(10), 4_096).tokens
    assert recommend(dialogue(10), round(tokens / share), reserve=0).urgency == urgency


def test_both_forms_of_a_message_are_read() -> None:
    assert recommend([Message("user", "hello")], 4_096) == recommend([{"role": "user", "content": "hello"}], 4_096)
    with pytest.raises(InvalidMessage, match="message 1"):
        recommend([{"role": "user", "content": "hello"}, {"role": "nobody"}], 4_096)


def test_what_is_available_is_never_negative() -> None:
    assert [available(limit) for limit in (4_096, 2_001, 2_000, 1)] == [2_096, 1, 0, 0]
    with pytest.raises(InvalidSettings, match="max_tokens 0"):
        available(0)


def test_where_the_reserve_leaves_nothing_the_whole_limit_is_the_measure() -> None:
    found = recommend(dialogue(3), 2_000)
    assert found.needs_optimization
    assert found.usage_ratio == found.tokens / 2_000
    assert not recommend([], 2_000).needs_optimization
    assert check_tool_safety(dialogue(3), 2_000, 2) == (True, tool_safety(dialogue(3), 2_000, 2).message)


def test_tools_are_safe_up_to_the_last_token() -> None:
    tokens = count_request(dialogue(10), [], "gpt-4o").tokens
    fits = tool_safety(dialogue(10), tokens + 2 * TOOL_RESERVE, 2)
    assert (fits.safe, fits.tokens, fits.reserved_tokens) == (True, tokens, 1_000)
    short = tool_safety(dialogue(10), tokens + 2 * TOOL_RESERVE - 1, 2)
    assert (short.safe, short.safe_once_optimized) == (False, True)
    assert "1 too many, optimize first with preference fast, which leaves " in short.message


def test_what_must_stay_can_be_too_much_for_the_tools() -> None:
    found = tool_safety(dialogue(10), 1_000, 2)
    assert (found.safe, found.safe_once_optimized) == (False, False)
    assert "shorten what must stay, or plan fewer calls" in found.message


def test_the_short_form_keeps_room_for_the_reply() -> None:
    assert check_tool_safety(dialogue(3), 4_096, 2) == (True, tool_safety(dialogue(3), 2_096, 2).message)
    safe, message = check_tool_safety(dialogue(60, 100), 4_096, 2)
    assert not safe
    assert f"{tool_safety(dialogue(60, 100), 2_096, 2).tokens:,} tokens" in message


def test_advice_names_a_setting_that_is_not_valid() -> None:
    with pytest.raises(InvalidSettings, match="preference 'foo' is not known: use one of fast, balanced, quality"):
        recommend(dialogue(3), 4_096, preference="foo")
    with pytest.raises(InvalidSettings, match="planned_tools -1 is not valid"):
        tool_safety(dialogue(3), 4_096, -1)
