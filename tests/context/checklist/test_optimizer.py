"""What the preset `optimizer` and `context.optimize` promise, number by number."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from purser import context
from purser.compose.settings import Settings
from purser.context.compression.headings import length_header
from purser.context.compression.lengths import Style, summary_length
from purser.context.conversation.messages import Message
from purser.context.settings import ContextSettings
from purser.context.strategies import WINDOW_PRESETS
from purser.context.strategies.choice import Preference, choose, scores
from purser.context.tokens import count_request
from purser.context.windows.advice import TOOL_RESERVE, available, check_tool_safety, recommend
from purser.context.windows.optimizing import (
    MAX_TOKENS,
    Optimizer,
    optimize,
    optimize_chat_context,
    prepare_optimized_messages,
)

MODEL = "gpt-4o"
KEYS = {
    "optimization_applied",
    "messages_removed",
    "tokens_saved",
    "strategy_chosen",
    "strategy_reason",
    "summary_generated",
}
Messages = list[dict[str, Any]]


def dialogue(count: int, words: int = 40) -> Messages:
    """A system message and so many others, alternating, less one."""
    said = [
        {"role": "assistant" if place % 2 else "user", "content": f"message {place}: " + "word " * words}
        for place in range(count - 1)
    ]
    return [{"role": "system", "content": "You are helpful."}, *said]


def short(text: str) -> str:
    return "They talked about words."


def tokens(messages: Messages) -> int:
    return count_request(messages, [], MODEL).tokens


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


# --- the choice ------------------------------------------------------------------------------------------------------

T, S = "smart_truncation", "summary"


@pytest.mark.parametrize(
    ("messages", "characters", "expected"),
    [
        (9, 1_999, (T, T, T)),
        (10, 1_999, (T, T, S)),
        (30, 10_000, (T, T, S)),
        (31, 10_000, (T, S, S)),
        (20, 10_001, (T, S, S)),
    ],
)
def test_selection_matrix(messages: int, characters: int, expected: tuple[str, str, str]) -> None:
    found = [choose(messages=messages, characters=characters, preference=each).strategy for each in Preference]
    assert tuple(found) == expected


def test_selection_matrix_takes_the_larger_class_of_a_mixed_case_and_says_so() -> None:
    for messages, characters in ((3, 20_000), (100, 400)):
        found = choose(messages=messages, characters=characters, preference=Preference.BALANCED)
        assert found.strategy == S
        assert "the larger of" in found.reason


@pytest.mark.parametrize(
    ("messages", "characters", "summaries", "truncate", "summarize"),
    [
        (5, 500, 0, 100, 40),
        (30, 9_000, 0, 100, 100),
        (30, 10_001, 0, 70, 100),
        (51, 10_001, 0, 40, 100),
        (51, 10_001, 3, 40, 30),
        (51, 10_001, 5, 20, 30),
    ],
)
def test_scores(messages: int, characters: int, summaries: int, truncate: int, summarize: int) -> None:
    for preference, weight in ((Preference.FAST, 8), (Preference.BALANCED, 5), (Preference.QUALITY, 2)):
        found = scores(messages=messages, characters=characters, preference=preference, summaries=summaries)
        assert found == {"truncate": truncate * weight / 10, "summarize": summarize * (10 - weight) / 10}


def test_scores_that_tie_truncate() -> None:
    tie = choose(messages=30, characters=9_000, preference=Preference.BALANCED)
    assert tie.scores["truncate"] == tie.scores["summarize"] == 50
    assert tie.strategy == T


@pytest.mark.parametrize(
    ("messages", "characters", "expected"),
    [(5, 500, (T, T, T)), (30, 6_000, (T, T, S)), (60, 12_000, (T, S, S))],
)
def test_expected_results_of_5_30_and_60_messages(
    messages: int, characters: int, expected: tuple[str, str, str]
) -> None:
    found = [choose(messages=messages, characters=characters, preference=each).strategy for each in Preference]
    assert tuple(found) == expected


def test_frequency_is_at_most_3_summaries_per_conversation() -> None:
    optimizer = Optimizer()
    made = [optimizer.optimize(dialogue(60), 2_500, short, "c1", "quality")[1] for _ in range(5)]
    assert [stats["summary_generated"] for stats in made] == [True, True, True, False, False]
    assert all("already summarized 3 times, at most 3" in stats["strategy_reason"] for stats in made[3:])
    assert all(stats["optimization_applied"] for stats in made), "truncation is not limited"
    fresh = Optimizer()
    assert all(fresh.optimize(dialogue(60), 2_500, short, None, "quality")[1]["summary_generated"] for _ in range(5))


def test_no_summarize_function_always_truncates() -> None:
    for preference in Preference:
        _, stats = optimize(dialogue(60), 4_096, None, preference=preference)
        assert stats["strategy_chosen"] == T


def test_failure_is_an_emergency_truncation_with_the_reason() -> None:
    def fails(text: str) -> str:
        raise RuntimeError("no model")

    shown, stats = optimize(dialogue(60), 2_500, fails, preference="quality")
    assert (stats["strategy_chosen"], stats["summary_generated"]) == (T, False)
    assert "RuntimeError" in stats["strategy_reason"]
    assert "emergency truncation" in stats["strategy_reason"]
    assert tokens(shown) <= 500


@pytest.mark.parametrize(("messages", "max_tokens"), [([], 4_096), (dialogue(3), 4_096), (dialogue(60), 128_000)])
def test_skips_return_messages_unchanged(messages: Messages, max_tokens: int) -> None:
    shown, stats = optimize(messages, max_tokens, short, preference="quality")
    assert shown == messages
    assert not stats["optimization_applied"]


def test_quality_claims_system_and_newest_user_message_always_stay() -> None:
    for preference in Preference:
        for count in (16, 29, 60, 200):
            messages = dialogue(count, 100)
            shown, _ = optimize(messages, 3_000, short, preference=preference)
            newest = max(place for place, message in enumerate(messages) if message["role"] == "user")
            assert messages[0] in shown
            assert messages[newest] in shown


def test_config_fields_have_their_defaults() -> None:
    assert MAX_TOKENS == 4_096
    assert Settings.model_fields["max_output_tokens"].default == 4_096
    assert Settings.model_fields["context_window_tokens"].default == 128_000
    assert WINDOW_PRESETS["optimizer"].settings.reply_reserve == 2_000


def test_config_fields_are_overridden_by_what_a_caller_gives_and_null_means_the_default() -> None:
    usual = ContextSettings()
    assert usual.overridden({"context_window_tokens": 4_096}).context_window_tokens == 4_096
    assert usual.overridden({"context_window_tokens": None}) == usual


def test_future_ideas_statistics_report_the_effect() -> None:
    _, stats = optimize([Message("user", "word " * 3_000)], 3_000)
    assert stats["clipped"][0]["tokens_left_out"] > 0


async def test_future_ideas_summaries_are_awaited() -> None:
    asked: list[str] = []

    async def remember(text: str, characters: int) -> str:
        await asyncio.sleep(0)
        asked.append(text)
        return "They met."

    shown, stats = await Optimizer().optimize_async(dialogue(60, 100), 3_000, remember)
    assert stats["summary_generated"]
    assert asked
    assert sum("They met." in str(message["content"]) for message in shown) == 1


def test_003_9_the_names_of_chat_applications_do_what_the_others_do() -> None:
    long = dialogue(60, 100)
    optimized, stats = context.ContextOptimizer(4_000).optimize_context(long, user_preference="fast")
    assert (optimized, stats) == context.optimize(long, 4_000, preference="fast")
    helper = context.ChatContextHelper
    assert helper.optimize_chat_context(long, 4_000)[0] == context.optimize(long, 4_000)[0]
    assert helper.get_optimization_recommendation(long, 4_000) == context.recommend(long, 4_000)
    assert helper.check_context_safety(long, 4_000, 3) == context.check_tool_safety(long, 4_000, 3)
