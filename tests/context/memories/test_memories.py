"""In-process memories: what each shows, drops and retrieves."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from purser.context.conversation.messages import Message
from purser.context.errors import InvalidMessage
from purser.context.memories import (
    ConversationMemory,
    FactsMemory,
    HybridMemory,
    KnowledgeGraphMemory,
    RollingMemory,
    RollingState,
    SlidingWindowMemory,
    SummaryMemory,
    ThreePartMemory,
    TokenTruncationMemory,
    VectorMemory,
)
from purser.context.memories.vector import Embed
from purser.context.retrieval import Via
from purser.context.tokens import count_request

CALL = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": "{}"}}
ALL = [
    SlidingWindowMemory, TokenTruncationMemory, ThreePartMemory, RollingMemory, SummaryMemory, VectorMemory,
    HybridMemory, FactsMemory,
]  # fmt: skip


def dialogue(memory: ConversationMemory, count: int, first: int = 0) -> None:
    """Adds messages of user and assistant in turn."""
    for number in range(first, first + count):
        memory.add_message("assistant" if number % 2 else "user", f"message {number} about topic{number} and no more")


def contents(memory: ConversationMemory) -> list[str]:
    return [message["content"] or "" for message in memory.get_messages()]


def numbers(memory: ConversationMemory) -> list[int]:
    """Which messages of `dialogue` are shown."""
    return [int(text.split()[1]) for text in contents(memory) if text.startswith("message ")]


def short(text: str) -> str:
    return f"A record of {len(text)} characters."


@pytest.mark.parametrize("kind", ALL)
def test_every_memory_adds_shows_and_finds(kind: type[Any]) -> None:
    memory = kind(system_prompt="Be brief.")
    assert memory.get_messages() == [{"role": "system", "content": "Be brief."}]
    assert memory.retrieve("anything") == []
    memory.add_message("user", "My cat is called Mimi.")
    memory.add_message({"role": "assistant", "content": None, "tool_calls": [CALL]})
    memory.add_message("tool", "found", tool_call_id="c1")
    memory.add_message(Message("assistant", "Noted."))
    roles = [message["role"] for message in memory.get_messages()]
    assert roles == ["system", "user", "assistant", "tool", "assistant"]
    assert [found.text for found in memory.retrieve("Mimi the cat", 1)] == ["My cat is called Mimi."]
    with pytest.raises(InvalidMessage, match=r"message \d, field 'role'"):
        memory.add_message("nobody", "hello")


# --- by strategy -----------------------------------------------------------------------------------------------------


def test_a_sliding_window_counts_rounds_whatever_they_contain() -> None:
    memory = SlidingWindowMemory(k=2, system_prompt="Be brief.")
    dialogue(memory, 4)
    memory.add_message("user", "look it up")
    memory.add_message({"role": "assistant", "content": None, "tool_calls": [CALL]})
    memory.add_message("tool", "found", tool_call_id="c1")
    shown = memory.get_messages()
    assert [message["role"] for message in shown] == ["system", "user", "assistant", "user", "assistant", "tool"]
    assert numbers(memory) == [2, 3]


def test_token_truncation_never_exceeds_its_limit_and_clips_a_message_that_does() -> None:
    memory = TokenTruncationMemory("gpt-4", 100)
    dialogue(memory, 40)
    assert count_request(memory.get_messages(), [], "gpt-4").tokens <= 100
    assert numbers(memory)[-1] == 39
    memory.add_message("user", "word " * 500)
    [clipped] = [text for text in contents(memory) if "tokens left out" in text]
    assert clipped.startswith("word word")


def test_three_parts_are_primers_summary_and_recents() -> None:
    memory = ThreePartMemory(400, primers=2, recents=4, summarize=short)
    dialogue(memory, 60)
    assert numbers(memory)[:2] == [0, 1]
    assert numbers(memory)[-4:] == [56, 57, 58, 59]
    assert any("A record of" in text for text in contents(memory))
    assert count_request(memory.get_messages(), [], "gpt-4o").tokens <= 400


# --- folding ---------------------------------------------------------------------------------------------------------


def test_rolling_merges_each_batch_into_the_last_summary() -> None:
    asked: list[str] = []

    def remember(text: str) -> str:
        asked.append(text)
        return short(text)

    memory = RollingMemory(remember)
    dialogue(memory, 22)
    assert numbers(memory) == list(range(12, 22))
    assert [text.count("message ") for text in asked] == [6, 6]
    assert asked[1].startswith(f"Summary so far:\n{short(asked[0])}\nNew messages:\nuser: message 6 ")


def test_one_shot_makes_each_summary_of_all_messages() -> None:
    asked: list[int] = []

    def remember(text: str) -> str:
        asked.append(text.count("message "))
        return short(text)

    dialogue(RollingMemory(remember, progressive=False), 22)
    assert asked == [6, 12]


@pytest.mark.parametrize("answer", ["", "Error: 500", "word " * 900])
def test_an_answer_that_is_no_summary_leaves_all_as_it_was(answer: str) -> None:
    answers = iter(["A record.", *[answer] * 100])
    memory = RollingMemory(lambda text: next(answers))
    dialogue(memory, 16)
    before = memory.state
    dialogue(memory, 7, first=16)
    assert memory.state == before == RollingState("A record.", 6)
    assert memory.fault
    assert numbers(memory) == list(range(6, 23)), "messages that are not covered are shown"


def test_pins_and_open_calls_are_never_folded() -> None:
    memory = RollingMemory(short, compression_threshold=2, recent_messages_limit=2)
    memory.add_message({"role": "user", "content": "I am allergic to peanuts", "pinned": True})
    dialogue(memory, 6)
    memory.add_message({"role": "assistant", "content": None, "tool_calls": [CALL]})
    for _ in range(6):
        memory.add_message("user", "are you there?")
    assert "I am allergic to peanuts" in contents(memory)
    assert any(message.get("tool_calls") for message in memory.get_messages())
    assert memory.state.covered > 0


def test_a_state_survives_json_and_an_empty_one_has_no_summary() -> None:
    memory = RollingMemory(short)
    dialogue(memory, 16)
    again = RollingMemory(short)
    again.state = RollingState.parse(json.loads(json.dumps(memory.state.to_dict())))
    assert again.state == memory.state
    assert RollingState.parse({}) == RollingState.parse({"summary": None, "covered": None}) == RollingState()


# --- retrieval -------------------------------------------------------------------------------------------------------


def embed(texts: Sequence[str]) -> list[list[float]]:
    """Pets in one direction, everything else in another."""
    return [[1.0, 0.1] if any(pet in text.lower() for pet in ("cat", "dog", "pet")) else [0.1, 1.0] for text in texts]


def test_vectors_find_by_meaning_and_words_go_on_without_them() -> None:
    def away(texts: Sequence[str]) -> list[list[float]]:
        raise ConnectionError

    for vectors, found in ((embed, ["I have a dog."]), (away, []), (None, [])):
        memory = VectorMemory(vectors)
        for text in ("I have a dog.", "It rains.", "I like tea."):
            memory.add_message("user", text)
        assert [one.text for one in memory.retrieve("Which pets?", 1)] == found
        assert [one.text for one in memory.retrieve("tea", 1)] == ["I like tea."]


def test_what_is_found_by_meaning_alone_is_told_from_what_its_words_find_too() -> None:
    memory = VectorMemory(embed)
    for text in ("I have a dog.", "It rains.", "I like tea."):
        memory.add_message("user", text)
    assert {one.via for one in memory.retrieve("Which pets?")} == {Via.VECTOR}
    assert [one.via for one in memory.retrieve("a dog", 1)] == [Via.BOTH]


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param(lambda texts: [[1.0, 0.5]] * (len(texts) - 1), id="one too few"),
        pytest.param(lambda texts: [[1.0, 0.5]] * (len(texts) + 1), id="one too many"),
        pytest.param(lambda texts: [], id="none"),
        pytest.param(lambda texts: [[1.0] * (2 + place) for place, _ in enumerate(texts)], id="of different lengths"),
        pytest.param(lambda texts: [[1.0, 0.5, 0.2]] * len(texts), id="of another length than before"),
    ],
)
def test_vectors_that_do_not_fit_leave_the_search_to_words(odd: Embed) -> None:
    answers = iter([embed, odd, embed])
    memory = VectorMemory(lambda texts: next(answers)(texts))
    memory.add_message("user", "It rains.")
    memory.retrieve("weather")
    memory.add_message("user", "I like tea.")
    assert [(one.text, one.via) for one in memory.retrieve("tea", 1)] == [("I like tea.", Via.LEXICAL)]
    assert {one.via for one in memory.retrieve("Which pets?")} == {Via.VECTOR}, "vectors that fit count again"


def test_hybrid_puts_what_it_finds_right_before_the_newest_user_message() -> None:
    memory = HybridMemory(SlidingWindowMemory(k=1, system_prompt="Be brief."), limit=1)
    memory.add_message("user", "My cat is called Mimi.")
    memory.add_message("assistant", "A fine name.")
    memory.add_message("user", "What is my cat called?")
    memory.add_message({"role": "assistant", "content": None, "tool_calls": [CALL]})
    memory.add_message("tool", "found", tool_call_id="c1")
    shown = memory.get_messages()
    assert [message["role"] for message in shown] == ["system", "system", "user", "assistant", "tool"]
    assert "My cat is called Mimi." in shown[1]["content"]
    assert shown[1]["content"].count("\n") == 1


def test_hybrid_finds_neither_the_question_itself_nor_what_is_shown() -> None:
    memory = HybridMemory(SlidingWindowMemory(k=2))
    memory.add_message("user", "My cat is called Mimi.")
    memory.add_message("user", "What is my cat called?")
    assert [message["role"] for message in memory.get_messages()] == ["user", "user"]


# --- facts -----------------------------------------------------------------------------------------------------------


def test_facts_stay_when_their_messages_leave_the_window() -> None:
    assert KnowledgeGraphMemory is FactsMemory
    memory = FactsMemory(k=1, system_prompt="Be brief.")
    memory.add_message("user", "My order number is AX-20931 and the hotel costs $120.")
    memory.add_message("assistant", "Noted.")
    memory.add_message("user", "Thank you.")
    system, facts, newest = contents(memory)
    assert (system, newest) == ("Be brief.", "Thank you.")
    assert "AX-20931" in facts
    assert "$120" in facts
    assert any("AX-20931" in fact.value for fact in memory.facts_about("order"))
