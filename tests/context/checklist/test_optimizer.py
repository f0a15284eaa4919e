"""What the preset `optimizer` and `context.optimize` promise, number by number."""

from collections.abc import Callable
from typing import Any

import pytest

from purser.context.compression.headings import length_header
from purser.context.compression.lengths import Style, summary_length
from purser.context.windows.advice import TOOL_RESERVE, available, check_tool_safety, recommend
from purser.context.windows.optimizing import (
    MAX_TOKENS,
    Optimizer,
    optimize,
    optimize_chat_context,
    prepare_optimized_messages,
)
from tests.support.context.optimizing import Messages, dialogue, short, tokens

KEYS = {
    "optimization_applied",
    "messages_removed",
    "tokens_saved",
    "strategy_chosen",
    "strategy_reason",
    "summary_generated",
}


# --- the optimizer ---------------------------------------------------------------------------------------------------


def test_context_optimizer_has_4096_tokens_less_2000() -> None:
    assert MAX_TOKENS == 4_096
    assert available(4_096) == 2_096
    assert optimize(dialogue(40, 200), preference="fast")[1]["bound_tokens"] == 2_096


def test_context_optimizer_with_2000_or_less_has_0_available_and_says_what_bounds_it() -> None:
    assert [available(limit) for limit in (2_000, 1_000)] == [0, 0]
    _, stats = optimize(dialogue(28), 2_000)
    assert stats["bound_tokens"] == 2_000
    assert "next to the reply there are 0 tokens, so the limit itself is the bound" in stats["strategy_reason"]


def test_estimate_includes_knowledge_and_web_context() -> None:
    _, plain = optimize(dialogue(10))
    _, more = optimize(dialogue(10), knowledge_context="word " * 100, web_context="word " * 200)
    assert more["tokens"] - plain["tokens"] in range(295, 306)


@pytest.mark.parametrize(
    ("messages", "rounds"),
    [(14, None), (15, 8), (29, 8), (30, 6), (50, 6), (51, 4), (200, 4)],
)
def test_smart_truncation_keeps_rounds_by_size(messages: int, rounds: int | None) -> None:
    shown, stats = optimize(dialogue(messages, 2), 2_000, preference="fast")
    requests, all_requests = (sum(one["role"] == "user" for one in part) for part in (shown, dialogue(messages)))
    # The first user message stays in addition.
    assert requests == (all_requests if rounds is None else min(all_requests, rounds + 1))
    assert stats["messages_removed"] == messages - len(shown)
    assert (shown[0], shown[-1]) == (dialogue(messages, 2)[0], dialogue(messages, 2)[-1])


def test_smart_truncation_meets_the_token_limit_where_its_rounds_alone_would_not() -> None:
    shown, stats = optimize(dialogue(60, 400), 4_096, preference="fast")
    assert stats["strategy_chosen"] == "smart_truncation"
    assert tokens(shown) <= 2_096
    assert sum(message["role"] == "user" for message in shown) < 4 + 1


def test_smart_truncation_turns_28_messages_into_17() -> None:
    shown, stats = optimize(dialogue(28), 2_000)
    assert (len(shown), stats["messages_removed"], stats["summary_generated"]) == (17, 11, False)


def test_smart_truncation_turns_28_messages_into_18_with_a_summary() -> None:
    shown, stats = optimize(dialogue(28), 2_000, short, preference="quality")
    assert (len(shown), stats["messages_removed"], stats["summary_generated"]) == (18, 11, True)


# --- length and header -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "asked", "style"),
    [
        (400, 50, Style.SHORT),
        (1_000, 150, Style.KEY_POINTS),
        (3_000, 450, Style.LAYERED),
        (10_000, 800, Style.LAYERED),
        (46, 46, Style.SHORT),
    ],
)
def test_dynamic_summary_length_is_15_percent_from_100_to_800(source: int, asked: int, style: Style) -> None:
    length = summary_length(source)
    assert (length.characters, length.style) == (asked, style)


@pytest.mark.parametrize("ratio", [0.10, 0.15, 0.25, 0.40])
def test_dynamic_summary_length_has_a_configurable_ratio(ratio: float) -> None:
    assert summary_length(2_000, ratio=ratio).characters == round(2_000 * ratio)


def test_dynamic_summary_length_reaches_the_summarizer() -> None:
    differences: list[int] = []

    def remember(text: str, characters: int) -> str:
        differences.append(characters - summary_length(len(text)).characters)
        return short(text)

    optimize(dialogue(28), 2_000, remember, preference="quality")
    assert set(differences) == {0}


def test_transparent_header_has_true_numbers_in_the_language_of_the_conversation() -> None:
    assert length_header(1_234, 185, "zh") == "[历史对话总结 - 原文1234字，总结185字]"
    asked: list[str] = []

    def remember(text: str) -> str:
        asked.append(text)
        return "用户谈到了订单和退款，客服同意全额退款。"

    said: Messages = [
        {
            "role": "assistant" if place % 2 else "user",
            "content": f"这是第{place}条消息，我们正在讨论订单的退款问题。" * 5,
        }
        for place in range(40)
    ]
    shown, _ = optimize(said, 4_096, remember, preference="quality")
    header = length_header(len(asked[-1]), len("用户谈到了订单和退款，客服同意全额退款。"), "zh")
    [summary] = [message for message in shown if header in message["content"]]
    assert summary["role"] == "system"


# --- calls and stats -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("helper", [optimize, prepare_optimized_messages, optimize_chat_context])
def test_helper_calls_return_messages_and_stats(helper: Callable[..., tuple[Messages, dict[str, Any]]]) -> None:
    shown, stats = helper(dialogue(28), 2_000, short, None, "quality")
    assert len(shown) == 18
    assert stats["summary_generated"]
    by_name = optimize_chat_context(
        dialogue(28), max_tokens=2_000, summarize_func=short, conversation_id=None, user_preference="quality"
    )
    assert by_name == (shown, stats)


@pytest.mark.parametrize("messages", [[], dialogue(2), dialogue(28), dialogue(60)])
def test_stats_are_always_present(messages: Messages) -> None:
    for max_tokens in (2_500, 128_000):
        shown, stats = optimize(messages, max_tokens)
        assert stats.keys() >= KEYS
        assert stats["tokens_saved"] == (tokens(messages) - tokens(shown) if messages else 0)
        assert stats["messages_removed"] == len(messages) - len(shown)


def test_recommendation_has_no_side_effect_and_counts_as_no_summary() -> None:
    optimizer = Optimizer()
    before = dialogue(60, 100)
    for _ in range(5):
        found = optimizer.recommend(before, 4_096, "c1", "quality")
        assert (found.recommended_strategy, found.needs_optimization, found.urgency) == ("summary", True, "critical")
    assert before == dialogue(60, 100)
    assert found.usage_ratio == tokens(before) / 2_096
    assert not recommend(dialogue(3), 4_096).needs_optimization


def test_tool_safety_reserves_per_planned_tool_and_names_the_numbers() -> None:
    room = tokens(dialogue(20)) + 2 * TOOL_RESERVE
    safe, message = check_tool_safety(dialogue(20), 2_000 + room, 2)
    assert safe
    assert f"{tokens(dialogue(20)):,} tokens and 1,000 for 2 tool calls, limit {room:,}" in message
    assert not check_tool_safety(dialogue(20), 2_000 + room, 3)[0]


def test_tool_safety_unsafe_then_optimize_with_fast_and_check_again() -> None:
    messages = dialogue(60)
    limit = 2_000 + tokens(messages)
    safe, message = check_tool_safety(messages, limit, 2)
    assert not safe
    assert "optimize first with preference fast" in message
    shown, _ = optimize(messages, limit, preference="fast", planned_tools=2)
    assert check_tool_safety(shown, limit, 2)[0]
