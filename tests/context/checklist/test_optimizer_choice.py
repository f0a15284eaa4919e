"""What `context.optimize` chooses and when, number by number."""

import asyncio

import pytest

from purser import context
from purser.compose.settings import Settings
from purser.context.conversation.messages import Message
from purser.context.settings import ContextSettings
from purser.context.strategies import WINDOW_PRESETS
from purser.context.strategies.choice import Preference, choose, scores
from purser.context.windows.optimizing import (
    MAX_TOKENS,
    Optimizer,
    optimize,
)
from tests.support.context.optimizing import Messages, dialogue, short, tokens

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
