"""What the preset `education` and its surroundings promise, number by number: a token-aware window with a summary."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from purser.activities.compression.summarizer import TEMPERATURE
from purser.compose.settings import load_settings
from purser.compose.settings.context import context_settings
from purser.context.compression.requests import CountText, KeepRules, Passage, SummarySource, chunks, summary_request
from purser.context.conversation.messages import Message
from purser.context.conversation.renderings import ACKNOWLEDGEMENT, ROUTER_BUDGET, render_structured, render_text
from purser.context.memories import RollingMemory, RollingState
from purser.context.postgres.conversation.conversations import Conversations
from purser.context.settings import ContextSettings
from purser.context.strategies import WINDOW_PRESETS, StrategyName
from purser.context.strategies.settings import share
from purser.context.tokens import count_message, count_request, count_text, legacy_estimate
from purser.context.windows import Window, build_window
from tests.support.context.conversations import assistant, calling, result, talk, user
from tests.support.context.windows import short_summary

if TYPE_CHECKING:
    import asyncpg

MODEL = "gpt-4o"
BUDGET = 73_142
TURNS = talk(20)


def window(messages: list[Message], *, tokens: int, budget: int = BUDGET, **options: object) -> Window:
    """A window of the preset over messages with the given total of tokens, including overhead."""
    each, rest = divmod(tokens - 3, len(messages))
    counts = [each + rest, *[each] * (len(messages) - 1)]
    options.setdefault("counts", counts)
    return build_window(messages, budget=budget, model=MODEL, preset="education", **options)  # type: ignore[arg-type]


# --- counting --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["Hello, how are you?", "你好，今天天气怎么样？", "Class 7b 的作业 is due.", "x" * 10_000]
)
def test_token_counter_counts_every_language_exactly_and_states_the_level_that_answered(text: str) -> None:
    exact, formula = count_text(text, MODEL), count_text(text, MODEL, fast=True)
    assert exact.method in ("litellm", "tiktoken")
    assert formula.method == "formula"
    assert exact.tokens > 0
    assert formula.tokens > 0


def test_token_counter_counts_empty_text_as_0() -> None:
    assert count_text("", MODEL).tokens == count_text("", MODEL, fast=True).tokens == 0


def test_token_counter_keeps_the_level_of_characters_over_2_5_by_name() -> None:
    assert [legacy_estimate("education", [text]) - 4 for text in ("", "a", "a" * 100)] == [0, 1, 40]


def test_count_over_turns_adds_4_per_message_and_counts_tool_calls() -> None:
    assert count_message({"role": "user", "content": "hello"}, MODEL).tokens == count_text("hello", MODEL).tokens + 4
    called = calling("c1").to_openai()
    assert count_message(called, MODEL).tokens > 4
    assert count_request([called, called], [], MODEL).tokens == 2 * count_message(called, MODEL).tokens + 3


# --- window settings -------------------------------------------------------------------------------------------------


def test_window_settings_give_history_73142_tokens() -> None:
    settings = ContextSettings()
    assert (settings.context_window_tokens, settings.history_token_budget_ratio) == (128_000, 0.60)
    assert (settings.output_token_reserve, settings.system_token_reserve) == (4_096, 2_000)
    assert settings.context_budget() == int((128_000 - 4_096 - 2_000) * 0.60) == 73_142


def test_window_settings_are_all_environment_variables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    given = {
        "CONTEXT_WINDOW_TOKENS": "32000",
        "HISTORY_TOKEN_BUDGET_RATIO": "0.5",
        "OUTPUT_TOKEN_RESERVE": "1000",
        "ROUTER_HISTORY_TOKEN_BUDGET": "4000",
        "SUMMARIZATION_TRIGGER_RATIO": "0.8",
        "SUMMARIZATION_MODEL": "gpt-4o-mini",
    }
    for name, value in given.items():
        monkeypatch.setenv(f"PURSER_{name}", value)
    settings = load_settings()
    assert context_settings(settings).context_budget() == (32_000 - 1_000 - 2_000) // 2
    assert context_settings(settings).trigger_ratio == 0.8
    assert (settings.router_history_token_budget, settings.summarizer) == (4_000, "gpt-4o-mini")


def test_window_settings_clamp_to_0_where_reserves_exceed_the_window() -> None:
    assert ContextSettings(context_window_tokens=6_000).context_budget() == 0
    assert ContextSettings().context_budget(window=4_096) == 0


# --- the window ------------------------------------------------------------------------------------------------------


def test_token_aware_sliding_window_holds_at_most_40_turns() -> None:
    found = window(talk(60), tokens=6_003, summarize=None)
    assert [index for index in found.indexes if index is not None] == list(range(20, 60))
    assert len(window(talk(40), tokens=4_003).messages) == 40


def test_token_aware_sliding_window_stops_at_the_first_turn_that_does_not_fit() -> None:
    turns = [user("small"), assistant("large"), user("small"), assistant("small"), user("small")]
    found = window(turns, tokens=0, budget=200, counts=[10, 500, 10, 10, 10], summarize=None)
    assert found.indexes == (2, 3, 4), "an older small one is not taken instead"


def test_token_aware_sliding_window_leaves_the_current_turn_to_the_sender() -> None:
    assert "current" not in render_text([user("earlier"), user("current")][:-1], model=MODEL)


def test_token_aware_sliding_window_reserves_the_summary_first() -> None:
    alone = "[Earlier conversation summary (3 turns)]:\nThey noted orders."
    most = count_text(alone + "\n", MODEL).tokens
    assert render_text(TURNS, summary="They noted orders.", summarised=3, most_tokens=most, model=MODEL) == alone


def test_token_aware_sliding_window_of_nothing_is_empty_and_a_summary_alone_is_shown() -> None:
    assert render_text([], model=MODEL) == ""
    assert render_structured([]) == []
    assert "They noted orders." in render_text([], summary="They noted orders.", model=MODEL)
    assert [message.role for message in render_structured([], summary="They noted orders.")] == ["user", "assistant"]


def test_edge_newest_turn_larger_than_budget_is_clipped_with_a_mark() -> None:
    large = user("word " * 2_000)
    found = build_window([*TURNS, large], budget=500, model=MODEL, preset="education")
    assert found.tokens <= 500
    assert "tokens left out" in found.messages[-1].text
    assert [one.index for one in found.stats.clipped] == [len(TURNS)]
    assert "tokens left out" in render_text([large], most_tokens=100, model=MODEL)


def test_edge_summary_larger_than_budget_is_shrunk() -> None:
    def endless(source: SummarySource, most_tokens: int, count: CountText) -> str:
        return "word " * 50_000

    found = build_window(talk(60), budget=1_500, model=MODEL, preset="education", summarize=endless)
    assert found.tokens <= 1_500
    rendered = render_text(TURNS, summary="word " * 9_000, summarised=3, model=MODEL)
    assert count_text(rendered, MODEL).tokens <= ROUTER_BUDGET


# --- renderings ------------------------------------------------------------------------------------------------------


def test_two_renderings_plain_text_has_a_budget_of_8000() -> None:
    long = talk(2_000)
    assert ROUTER_BUDGET == load_settings().router_history_token_budget == 8_000
    assert 7_900 < count_text(render_text(long, model=MODEL), MODEL).tokens <= 8_000


def test_two_renderings_plain_text_names_roles_and_actions() -> None:
    turns = [user("Which class?"), calling("c1"), result("c1", "7b"), assistant("7b.")]
    text = render_text(turns, summary="They met.", summarised=4, model=MODEL)
    assert text.splitlines() == [
        "[Earlier conversation summary (4 turns)]:",
        "They met.",
        "USER: Which class?",
        "ASSISTANT: [look_up]",
        "TOOL: 7b",
        "ASSISTANT: 7b.",
    ]


def test_two_renderings_structured_messages_carry_the_summary_as_a_pair() -> None:
    first, second, *rest = render_structured(TURNS, summary="They met.", summarised=4)
    assert (first.role, first.text) == ("user", "[Context: Summary of earlier conversation (4 turns)]:\nThey met.")
    assert (second.role, second.text) == ("assistant", ACKNOWLEDGEMENT)
    assert rest == TURNS


async def test_storage_cut_does_not_exist(pool: "asyncpg.Pool[asyncpg.Record]") -> None:
    conversations, long = Conversations(pool), user("å" * 20_001)
    [seq] = await conversations.append("t", "s1", [long], origin="a")
    assert (await conversations.read("t", "s1", [seq]))[seq].message == long


# --- the summary -----------------------------------------------------------------------------------------------------


def test_progressive_summary_state_of_old_sessions_loads_and_json_goes_both_ways() -> None:
    assert RollingState.parse({}) == RollingState("", 0)
    state = RollingState("They noted orders.", 6)
    assert RollingState.parse(json.loads(json.dumps(state.to_dict()))) == state


def test_maybe_summarize_triggers_at_58514_tokens() -> None:
    assert share(BUDGET, 0.80) + 1 == 58_514
    assert not window(TURNS, tokens=58_513).stats.optimization_applied
    assert window(TURNS, tokens=58_514).stats.summary_generated


def test_maybe_summarize_keeps_the_newest_turns_up_to_29256_tokens() -> None:
    assert share(BUDGET, 0.40) == 29_256
    turns = talk(60)[:38]
    found = window(turns, tokens=60_003, counts=[1_579] * 38, summarize=short_summary)
    shown = [index for index in found.indexes if index is not None]
    assert shown == list(range(38 - len(shown), 38))
    assert (len(shown) + 1) * 1_579 > 29_256 - count_message(found.messages[0].to_openai(), MODEL).tokens
    assert found.tokens <= 29_256 + 3


def test_maybe_summarize_wants_6_turns() -> None:
    assert WINDOW_PRESETS["education"].settings.least_messages == 6
    assert not window(TURNS[:5], tokens=60_000).stats.optimization_applied
    assert window(TURNS[:7], tokens=60_000).stats.optimization_applied


def test_maybe_summarize_writes_at_most_1024_tokens_at_temperature_0_2() -> None:
    asked: list[int] = []

    def remember(source: SummarySource, most_tokens: int, count: CountText) -> str:
        asked.append(most_tokens)
        return "They noted orders."

    window(talk(60), tokens=60_000, summarize=remember)
    assert WINDOW_PRESETS["education"].settings.summary_most_tokens == 1_024
    assert 0 < max(asked) <= 1_024
    assert TEMPERATURE == 0.2


def test_maybe_summarize_covers_what_it_drops_and_merges_the_previous_summary() -> None:
    found = window(talk(60), tokens=60_000, summarize=short_summary)
    [covered] = found.summarised
    shown = [index for index in found.indexes if index is not None]
    assert covered == (0, shown[0] - 1)
    request = summary_request(SummarySource("They met.", (Passage("user", "Hello"),)), 1_024)[1]["content"]
    assert request.index("They met.") < request.index("Hello")


def test_hooks_summarize_when_the_answer_is_saved_and_not_before() -> None:
    written: list[str] = []

    def note(text: str) -> str:
        written.append(text)
        return "They met."

    memory = RollingMemory(note)
    for number in range(15):
        memory.add_message(("user", "assistant")[number % 2], f"Turn {number}.")
    assert written == []
    memory.add_message("assistant", "The answer.")
    assert len(written) == 1
    assert "Turn 0." in written[0]
    assert "The answer." not in written[0]
    shown = [message.text for message in memory.window()]
    assert shown[-1] == "The answer."
    assert "They met." in shown[0]
    assert "Turn 0." not in shown


def test_failure_leaves_the_state_and_the_request_goes_on() -> None:
    def away(text: str) -> str:
        raise ConnectionError

    memory = RollingMemory(away)
    for turn in TURNS:
        memory.add_message(turn)
    assert memory.state == RollingState()
    assert memory.fault == "ConnectionError"
    assert [message["content"] for message in memory.get_messages()] == [turn.text for turn in TURNS]


def test_edge_everything_fits_the_target_and_recents_stay_all_the_same() -> None:
    found = window(talk(42), tokens=4_203, summarize=short_summary)
    assert [index for index in found.indexes if index is not None] == list(range(2, 42))


def test_edge_newest_turn_above_target_stays_with_the_last_exchange() -> None:
    found = window(TURNS, tokens=0, counts=[1_300] * 18 + [18_000, 17_000], summarize=short_summary)
    assert [index for index in found.indexes if index is not None][-2:] == [18, 19]


def test_edge_huge_old_part_is_split_into_chunks() -> None:
    def count(text: str) -> int:
        return count_text(text, MODEL).tokens

    parts = chunks(SummarySource.of("", [*talk(100), user("word " * 3_000)]), 500, count)
    assert len(parts) > 5
    assert all(sum(count(passage.text) for passage in part.passages) <= 500 for part in parts)


def test_summary_prompt_asks_for_intents_decisions_and_identifiers_in_the_language_of_the_conversation() -> None:
    system = summary_request(SummarySource.of("", TURNS), 1_024)[0]["content"]
    assert "ids" in system
    assert "decisions" in system
    assert "language of the conversation" in system
    assert "Return the record alone" in system
    system_with_rules = summary_request(
        SummarySource.of("", TURNS), 1_024, keep_rules=KeepRules(keep="class and student ids")
    )[0]["content"]
    assert "class and student ids" in system_with_rules


def test_rollout_a_trigger_of_1_is_off() -> None:
    assert not ContextSettings(trigger_ratio=1.0).compresses
    assert ContextSettings(trigger_ratio=0.99).compresses


@pytest.mark.parametrize(
    "strategy",
    [StrategyName.TOKEN_TRUNCATION, StrategyName.SUMMARY, StrategyName.HYBRID],
)
def test_comparison_a_to_d_every_way_is_selectable_and_none_overflows_in_40_turns(strategy: StrategyName) -> None:
    turns = [user("My class is 7b-2041, remember that."), *talk(40)]
    for end in range(1, len(turns) + 1):
        found = build_window(turns[:end], budget=600, model=MODEL, strategy=strategy)
        assert found.tokens <= 600
    assert any("7b-2041" in message.text for message in found.messages), "ids survive"
