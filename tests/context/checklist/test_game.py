"""What the preset `game` and the memories of an agent's loop promise, number by number."""

import logging
from collections.abc import Sequence

import pytest

from purser.budget import PriceBook
from purser.context.conversation.messages import StoredMessage
from purser.context.facts import extract_facts
from purser.context.memories import (
    FactsMemory,
    HybridMemory,
    SlidingWindowMemory,
    SummaryMemory,
    TokenTruncationMemory,
    VectorMemory,
)
from purser.context.strategies import WINDOW_PRESETS, StrategyName
from purser.context.tokens import count_message, count_request, tokenizer_of, window_of
from purser.context.tokens.legacy import WINDOWS
from purser.context.windows import build_window
from tests.support.context.conversations import assistant, calling, result, talk, user

MODEL = "gpt-4o"


def short(text: str) -> str:
    return f"A record of {len(text)} characters."


def roles(messages: Sequence[dict[str, object]]) -> list[object]:
    return [message["role"] for message in messages]


# --- windows of models -----------------------------------------------------------------------------------------------


def test_model_window_table_has_the_windows_that_are_taught() -> None:
    assert WINDOWS == {
        "gpt-3.5-turbo": 4_096,
        "gpt-3.5-turbo-16k": 16_384,
        "gpt-4": 8_192,
        "gpt-4-32k": 32_768,
        "gpt-4-turbo": 128_000,
        "deepseek-chat": 32_768,
    }


def test_model_window_table_takes_overrides_and_warns_of_what_it_does_not_know(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert window_of("gpt-4", PriceBook.load().context_window("gpt-4")) == 8_192
    assert window_of("gpt-4", 8_192, overrides={"gpt-4": 6_000}) == 6_000
    with caplog.at_level(logging.WARNING):
        assert window_of("nobody-knows-this-model") == 128_000
    assert "nobody-knows-this-model" in caplog.text


# --- 1 to 3: what remains --------------------------------------------------------------------------------------------


def test_1_sliding_window_keeps_10_rounds_and_the_system_prompt_first() -> None:
    memory = SlidingWindowMemory(system_prompt="Be brief.")
    for message in talk(30):
        memory.add_message(message)
    assert roles(memory.get_messages()) == ["system"] + ["user", "assistant"] * 10
    assert WINDOW_PRESETS["game"].settings.rounds == 10
    found = build_window(talk(30), budget=100_000, model=MODEL, preset="game")
    assert (found.strategy, len(found.messages)) == (StrategyName.SLIDING_WINDOW, 20)


def test_1_sliding_window_counts_a_round_with_its_tool_messages_as_one() -> None:
    memory = SlidingWindowMemory(k=2)
    for number in range(4):
        for message in (user(f"ask {number}"), calling("c1", "c2"), result("c1"), result("c2"), assistant("done")):
            memory.add_message(message)
    assert roles(memory.get_messages()) == ["user", "assistant", "tool", "tool", "assistant"] * 2


def test_2_token_truncation_is_for_gpt_4_and_4096_tokens() -> None:
    memory = TokenTruncationMemory(system_prompt="Be brief.")
    assert (memory.model, memory.max_tokens) == ("gpt-4", 4_096)
    for message in talk(400):
        memory.add_message(message)
    shown = memory.get_messages()
    assert shown[0]["content"] == "Be brief."
    assert shown[-1]["content"] == talk(400)[-1].text
    tokens = count_request(shown, [], "gpt-4").tokens
    assert 4_096 - 80 < tokens <= 4_096, "the oldest went one by one, no more than had to"


def test_2_token_truncation_counts_by_cl100k_base_for_a_model_that_it_does_not_know() -> None:
    assert tokenizer_of("gpt-4").encoding == "cl100k_base"
    assert tokenizer_of("nobody-knows-this-model").vocabulary == "cl100k_base"


def test_2_token_truncation_counts_null_content_as_0_and_tool_calls_not_as_0() -> None:
    assert count_message({"role": "assistant", "content": None}, "gpt-4").tokens == 4
    assert count_message(calling("c1").to_openai(), "gpt-4").tokens > 4


def test_2_token_truncation_keeps_a_message_that_is_too_large_and_shows_where_it_is_clipped() -> None:
    memory = TokenTruncationMemory(max_tokens=100)
    memory.add_message("user", "word " * 1_000)
    [shown] = memory.get_messages()
    assert "tokens left out" in shown["content"]
    assert count_request([shown], [], "gpt-4").tokens <= 100


def test_2_token_truncation_leaves_a_tenth_of_the_window_free_in_the_preset() -> None:
    settings = WINDOW_PRESETS["game"].settings
    assert (settings.trigger_ratio, settings.keep_ratio) == (0.90, 0.90)


def test_3_summary_memory_folds_all_but_the_last_message_at_5_rounds() -> None:
    asked: list[str] = []

    def remember(text: str) -> str:
        asked.append(text)
        return short(text)

    memory = SummaryMemory(remember, system_prompt="Be brief.")
    for message in talk(9):
        memory.add_message(message)
    assert not asked
    memory.add_message(talk(10)[9])
    system, summary, last = memory.get_messages()
    assert system["content"] == "Be brief."
    assert summary["role"] == "system"
    assert short(asked[0]) in summary["content"]
    assert last["content"] == talk(10)[9].text


@pytest.mark.parametrize(("progressive", "lines"), [(True, [9, 9]), (False, [9, 18])])
def test_3_summary_memory_offers_progressive_and_one_shot(progressive: bool, lines: list[int]) -> None:
    asked: list[int] = []

    def remember(text: str) -> str:
        asked.append(text.count("user: ") + text.count("assistant: "))
        return short(text)

    memory = SummaryMemory(remember, progressive=progressive)
    for message in talk(19):
        memory.add_message(message)
    assert asked == lines


def test_3_summary_memory_keeps_its_settings_through_every_summary() -> None:
    memory = SummaryMemory(short, threshold_rounds=3, system_prompt="Be brief.")
    for message in talk(40):
        memory.add_message(message)
        assert memory.get_messages()[0]["content"] == "Be brief."
        assert len(memory.get_messages()) <= 1 + 1 + 5


def test_3_summary_memory_is_not_erased_by_a_reply_without_content() -> None:
    answers = iter(["They noted orders.", *[""] * 100])
    memory = SummaryMemory(lambda text: next(answers))
    for message in talk(30):
        memory.add_message(message)
    assert memory.state.summary == "They noted orders."


# --- 4 to 6: what is found again -------------------------------------------------------------------------------------


def test_4_conversation_knowledge_graph_has_subject_relation_value_and_what_superseded_it() -> None:
    said = [user("My name is Ana. My budget is $500."), assistant("Noted."), user("My budget is $700.")]
    facts = extract_facts(StoredMessage(number, "", message, {}) for number, message in enumerate(said))
    first, second = [fact for fact in facts if fact.value in ("$500", "$700")]
    assert (first.subject, first.relation) == (second.subject, second.relation)
    assert (first.seq, first.superseded_by, second.seq, second.superseded_by) == (0, 2, 2, None)
    memory = FactsMemory()
    for message in said:
        memory.add_message(message)
    assert memory.facts == facts


def test_5_vector_memory_stores_what_users_and_assistants_say_and_finds_3() -> None:
    asked: list[str] = []

    def embed(texts: Sequence[str]) -> list[list[float]]:
        asked.extend(texts)
        return [[1.0, float(len(text))] for text in texts]

    memory = VectorMemory(embed, system_prompt="Be brief.")
    assert memory.retrieve("anything") == [], "an empty store returns nothing"
    memory.add_message("user", "one")
    memory.add_message("assistant", "two")
    assert len(memory.retrieve("anything")) == 2, "fewer than 3 are stored"
    for message in (calling("c1"), result("c1", "tool traffic"), user("  "), user("three"), assistant("four")):
        memory.add_message(message)
    found = memory.retrieve("anything")
    assert len(found) == 3
    assert not {"tool traffic", "  ", "Be brief."} & set(asked)
    assert all(memory.messages[one.seq].role == one.role for one in found), "number and role are stored"


def test_6_hybrid_memory_shows_rows_under_a_heading_right_before_the_newest_user_message() -> None:
    memory = HybridMemory(SlidingWindowMemory(k=1))
    for message in (user("My cat is called Mimi."), assistant("Noted."), user("What is my cat called?")):
        memory.add_message(message)
    found, question = memory.get_messages()
    heading, *lines = found["content"].splitlines()
    assert found["role"] == "system"
    assert heading.endswith(":")
    assert any(line.startswith("- ") and "user: My cat is called Mimi." in line for line in lines)
    assert question["content"] == "What is my cat called?"


def test_6_hybrid_memory_adds_nothing_where_nothing_is_found() -> None:
    memory = HybridMemory(SlidingWindowMemory(k=1))
    for message in (user("It rains."), assistant("Yes."), user("qwertz?")):
        memory.add_message(message)
    assert roles(memory.get_messages()) == ["user"]


def test_6_hybrid_memory_excludes_the_current_message_and_what_is_in_the_window() -> None:
    memory = HybridMemory(SlidingWindowMemory(k=2))
    for message in (user("My cat is called Mimi."), assistant("Noted."), user("What is my cat called?")):
        memory.add_message(message)
    assert roles(memory.get_messages()) == ["user", "assistant", "user"]


def test_game_loop_integration_inserts_before_the_last_user_message_not_before_the_last_message() -> None:
    memory = HybridMemory(SlidingWindowMemory(k=1))
    for message in (user("My cat is called Mimi."), assistant("Noted."), user("What is my cat called?")):
        memory.add_message(message)
    for message in (calling("c1"), result("c1")):
        memory.add_message(message)
    assert roles(memory.get_messages()) == ["system", "user", "assistant", "tool"]
