"""The messages that each strategy and each preset includes."""

from dataclasses import replace

import pytest

from purser.context.compression.requests import CountText, SummarySource
from purser.context.conversation.messages import Message
from purser.context.errors import InvalidSettings
from purser.context.strategies import WINDOW_PRESETS
from tests.support.context.conversations import assistant, calling, result, talk, user
from tests.support.context.windows import SYSTEM, indexes, requested, texts, window

ROLES = ("user", "assistant")


def briefly(source: SummarySource, most_tokens: int, count: CountText) -> str:
    """A summary that is shorter than even a few short messages: others are not shown."""
    return "Orders."


def test_28_messages_become_17_with_8_rounds() -> None:
    found = window([SYSTEM, *talk(27)], 2_000, "smart_truncation")
    assert indexes(found) == [0, 1, *range(13, 28)]
    assert found.stats.messages_removed == len(found.dropped) == 11
    assert {reason for _, reason in found.dropped} == {"older_than_rounds"}


@pytest.mark.parametrize(("messages", "rounds"), [(14, 7), (15, 8), (29, 8), (30, 6), (50, 6), (51, 4)])
def test_smart_truncation_takes_fewer_rounds_the_longer_a_conversation_is(messages: int, rounds: int) -> None:
    found = window(talk(messages), 100_000, "smart_truncation")
    newest = [index for index in indexes(found) if index and messages - index <= 2 * rounds]
    assert indexes(found) == [0, *newest]
    assert len([index for index in newest if index % 2 == 0]) + (newest[0] == 1) == rounds


def test_a_sliding_window_takes_the_last_10_rounds_and_the_first_request() -> None:
    found = window([SYSTEM, *talk(40)], 100_000, "sliding_window")
    assert indexes(found) == [0, 1, *range(21, 41)]


@pytest.mark.parametrize("strategy", ["summary", "three_part"])
def test_a_summary_that_is_written_for_a_small_window_has_most_of_it(strategy: str) -> None:
    rooms = []

    def recorded(source: SummarySource, most_tokens: int, count: CountText) -> str:
        rooms.append(most_tokens)
        return "Orders."

    messages = [Message(role, "Twelve crates of apples go to Lyon, and ten to Nice. " * 2) for role in ROLES * 100]
    window(messages, 1_000, strategy, summarize=recorded)
    assert 500 < rooms[0] <= 600


def test_the_tool_steps_of_a_round_belong_to_it() -> None:
    step = [calling("a"), result("a")]
    messages = [one for number in range(12) for one in (user(f"question {number}"), *step, assistant("answer"))]
    assert indexes(window(messages, 100_000, "sliding_window")) == [0, *range(8, 48)]


def test_token_truncation_stops_at_the_first_group_that_does_not_fit() -> None:
    messages = [user("short"), user("x " * 300), user("short"), assistant("short"), user("short")]
    found = window(messages, 100, "token_truncation")
    assert indexes(found) == [0, 2, 3, 4]
    assert found.dropped == ((1, "over_budget"),)


def test_three_part_takes_primers_and_recents_and_summarizes_the_middle() -> None:
    found = window([SYSTEM, *talk(60)], 900, "three_part")
    assert indexes(found)[:4] == [0, 1, 2, 3]
    [(first, last)] = found.summarised
    assert [*range(first), *range(last + 1, 61)] == indexes(found)
    assert found.messages[1].text.startswith("Summary of messages")
    assert found.dropped == ()


def test_a_pin_in_the_middle_stays_in_its_place_and_cuts_the_summarized_range() -> None:
    messages = [*talk(20), user("I am allergic to peanuts.", pinned=True), *talk(40)]
    found = window(messages, 700)
    assert 20 in indexes(found)
    assert [found.summarised[0][1], found.summarised[1][0]] == [19, 21]


def test_the_rest_is_dropped_without_a_summarizer_and_where_it_fails() -> None:
    found = window(talk(60), 500, "three_part", summarize=None)
    assert {reason for _, reason in found.dropped} == {"over_budget"}
    assert found.summarised == ()
    failed = window(talk(60), 500, "three_part", summarize=lambda source, most_tokens, count: "")
    assert {reason for _, reason in failed.dropped} == {"no_summary"}


def test_auto_takes_what_the_choice_names_and_leaves_alone_what_fits() -> None:
    messages = [SYSTEM, *talk(60)]
    assert window(messages, 500, "auto", preference="fast").strategy == "smart_truncation"
    assert window(messages, 500, "auto", preference="quality").strategy == "summary"
    assert window(messages, 500, "auto", summarize=None).strategy == "smart_truncation"
    assert not window(messages, 5_000, "auto", preference="fast").stats.optimization_applied


def test_an_unknown_name_is_an_error() -> None:
    with pytest.raises(InvalidSettings, match="strategy 'best'"):
        window(talk(2), 100, "best")
    with pytest.raises(InvalidSettings, match="preset 'best'"):
        window(talk(2), 100, preset="best")


# --- presets ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("messages", "covered"), [(15, 0), (16, 6), (21, 6), (22, 12), (28, 18)])
def test_cookhero_covers_the_oldest_6_whenever_16_are_uncovered(messages: int, covered: int) -> None:
    found = window([SYSTEM, *talk(messages)], 100_000, preset="cookhero", summarize=briefly)
    assert indexes(found) == [0, *range(1 + covered, 1 + messages)]
    assert found.summarised == (((1, covered),) if covered else ())


def test_windows_of_known_systems_keep_their_recents_before_a_summary() -> None:
    shares = {name: preset.settings.summary_share for name, preset in WINDOW_PRESETS.items()}
    del shares["game"]  # it writes no summary
    assert set(shares.values()) == {0.25}


def test_cookhero_shows_what_memory_found_last() -> None:
    found = window(talk(4), 1_000, preset="cookhero", memory=Message("system", "Found."))
    assert texts(found)[-1] == "Found."


@pytest.mark.parametrize(("messages", "covered"), [(23, 0), (26, 3), (60, 37)])
def test_shannon_keeps_3_and_20_above_three_quarters_of_the_budget(messages: int, covered: int) -> None:
    tokens = requested(talk(messages))
    found = window(talk(messages), tokens * 4 // 3 + 2, preset="shannon")
    assert not found.stats.optimization_applied, "at the trigger nothing is done"
    roomy = replace(WINDOW_PRESETS["shannon"].settings, keep_ratio=1.0)
    found = window(talk(messages), tokens * 4 // 3 - 2, preset="shannon", settings=roomy, summarize=briefly)
    assert found.stats.messages_removed == covered


def test_shannon_shrinks_recents_until_the_target_is_met() -> None:
    tokens = requested(talk(60))
    found = window(talk(60), tokens, preset="shannon")
    assert found.tokens <= tokens * 0.375 + 3
    assert indexes(found)[:3] == [0, 1, 2]


def test_education_keeps_40_turns_and_summarizes_above_80_percent() -> None:
    assert not window(talk(40), 100_000, preset="education").stats.optimization_applied
    assert window(talk(42), 100_000, preset="education", summarize=briefly).summarised == ((0, 1),)
    tokens = requested(talk(40))
    assert not window(talk(40), tokens * 5 // 4 + 2, preset="education").stats.optimization_applied
    found = window(talk(40), tokens * 5 // 4 - 2, preset="education")
    assert found.tokens <= tokens * 5 // 4 * 0.40 + 3


def test_game_takes_10_rounds_and_its_summary_covers_all_but_the_last_message() -> None:
    assert indexes(window([SYSTEM, *talk(40)], 100_000, preset="game")) == [0, *range(21, 41)]
    assert window(talk(9), 100_000, "summary", preset="game").summarised == ()
    assert window(talk(11), 100_000, "summary", preset="game", summarize=briefly).summarised == ((0, 9),)


def test_optimizer_makes_17_messages_of_28_and_18_with_a_summary() -> None:
    messages = [SYSTEM, *talk(27)]
    assert len(window(messages, 2_000, preset="optimizer").messages) == 17
    found = window(messages, 2_000, "summary", preset="optimizer")
    assert (len(found.messages), found.stats.messages_removed) == (18, 11)
    assert not window(messages, 4_000, preset="optimizer").stats.optimization_applied
