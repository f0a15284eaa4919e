"""What the preset `cookhero` and the rolling memory promise, number by number."""

import pytest

from purser.context.compression.requests import KeepRules, SummarySource, chunks, summary_request
from purser.context.conversation.messages import Message
from purser.context.memories import RollingMemory, RollingState, SlidingWindowMemory
from purser.context.settings import ContextSettings
from purser.context.strategies import WINDOW_PRESETS, Part
from purser.context.windows import build_window
from tests.support.context.conversations import assistant, talk, user
from tests.support.context.windows import short_summary

MODEL = "gpt-4o"
PRESET = WINDOW_PRESETS["cookhero"]


def short(text: str) -> str:
    return f"A record of {len(text)} characters."


def rolled(count: int) -> tuple[RollingMemory, list[int]]:
    """A memory of `count` messages, and the numbers of those at which it was compressed."""
    memory, at = RollingMemory(short), []
    for number, message in enumerate(talk(count), 1):
        before = memory.state
        memory.add_message(message)
        if memory.state != before:
            at.append(number)
    return memory, at


def test_rolling_compression_state_is_summary_and_count_and_history_is_the_summary_and_all_after_it() -> None:
    memory, _ = rolled(17)
    assert memory.state.covered == 6
    first, *rest = memory.get_messages()
    assert memory.state.summary in first["content"]
    assert [message["content"] for message in rest] == [message.text for message in talk(17)[6:]]


def test_trigger_compresses_the_oldest_6_at_16_messages_and_then_every_6() -> None:
    assert (PRESET.settings.batch_count, PRESET.settings.recents_count) == (6, 10)
    assert rolled(15)[1] == []
    memory, at = rolled(40)
    assert at == [16, 22, 28, 34, 40]
    assert memory.state.covered == 30


@pytest.mark.parametrize(("messages", "verbatim"), [(15, 15), (16, 10), (21, 15), (22, 10)])
def test_trigger_of_the_preset_is_the_same(messages: int, verbatim: int) -> None:
    found = build_window(talk(messages), budget=100_000, model=MODEL, preset="cookhero", summarize=short_summary)
    assert sum(index is not None for index in found.indexes) == verbatim
    assert found.stats.summary_generated is (verbatim < messages)


def test_incremental_merge_asks_for_the_previous_summary_and_the_new_batch_only() -> None:
    asked: list[str] = []

    def remember(text: str) -> str:
        asked.append(text)
        return short(text)

    memory = RollingMemory(remember)
    for message in talk(40):
        memory.add_message(message)
    first, *later = asked
    assert not first.startswith("Summary so far:"), "the first has a separate prompt"
    assert all(text.startswith("Summary so far:\nA record of") for text in later)
    assert [text.count("order ") for text in asked] == [3] * 5, "6 messages each, of which 3 name an order"


def test_incremental_merge_has_another_prompt_for_the_first_summary() -> None:
    first = summary_request(SummarySource.of("", talk(6)), 400)[0]["content"]
    merge = summary_request(SummarySource.of("They noted orders.", talk(6)), 400)[0]["content"]
    assert "Write a record" in first
    assert "Merge the earlier record with the new messages" in merge


def test_prompt_priorities_are_words_of_the_domain() -> None:
    keep_rules = KeepRules(keep="preferences and dietary limits, then dishes and feedback", drop="small talk")
    asked = summary_request(SummarySource.of("", talk(6)), 400, keep_rules=keep_rules)[0]["content"]
    assert asked.index("dietary limits") < asked.index("dishes") < asked.index("small talk")
    usual = summary_request(SummarySource.of("", talk(6)), 400)[0]["content"]
    assert "preferences" in usual
    assert "repetition" in usual


def test_failure_does_not_move_the_count_and_the_next_turn_tries_again() -> None:
    working = False

    def remember(text: str) -> str:
        if not working:
            raise ConnectionError
        return short(text)

    memory = RollingMemory(remember)
    for message in talk(18):
        memory.add_message(message)
    assert memory.state == RollingState()
    assert not memory.compress()
    assert len(memory.get_messages()) == 18, "the chat goes on"
    working = True
    memory.add_message(user("and now?"))
    assert memory.state.covered == 6


def test_assembly_order_is_personalization_system_summary_messages_documents() -> None:
    order = PRESET.settings.order
    assert [part for part in order if part is not Part.NEWEST] == [
        Part.SETTINGS, Part.SYSTEM, Part.SUMMARY, Part.CONVERSATION, Part.MEMORY,
    ]  # fmt: skip
    found = build_window(
        [Message("system", "You cook."), *talk(22)],
        budget=100_000,
        model=MODEL,
        preset="cookhero",
        summarize=short_summary,
        personal=Message("system", "Allergic to peanuts."),
        memory=Message("system", "A recipe."),
    )
    texts = [message.text for message in found.messages]
    assert texts[:2] == ["Allergic to peanuts.", "You cook."]
    assert "They noted orders." in texts[2]
    assert texts[3:] == [message.text for message in talk(22)[12:]] + ["A recipe."]


def test_assembly_order_has_a_peanut_allergy_of_round_3_in_round_15() -> None:
    said = talk(30)
    said[4] = user("By the way, I must not eat peanuts: I have a peanut allergy.")
    pinned = [*said[:4], user(said[4].text, pinned=True), *said[5:]]
    for messages in (said, pinned):
        found = build_window(messages, budget=1_500, model=MODEL, preset="cookhero")
        assert any("peanut allergy" in message.text for message in found.messages)


@pytest.mark.parametrize("count", [10, 16, 20, 33, 60])
def test_invariant_each_message_is_in_the_summary_or_verbatim(count: int) -> None:
    found = build_window(talk(count), budget=100_000, model=MODEL, preset="cookhero", summarize=short_summary)
    covered = [index for first, last in found.summarised for index in range(first, last + 1)]
    verbatim = [index for index in found.indexes if index is not None]
    assert sorted(covered + verbatim) == list(range(count))
    assert not found.dropped


def test_rejected_last_10_is_offered_and_lossy() -> None:
    memory = SlidingWindowMemory(k=5)
    for message in talk(30):
        memory.add_message(message)
    assert [message["content"] for message in memory.get_messages()] == [message.text for message in talk(30)[20:]]
    found = build_window(talk(30), budget=100_000, model=MODEL, strategy="sliding_window")
    assert {reason for _, reason in found.dropped} == {"older_than_rounds"}


def test_rejected_full_recompression_is_offered_as_one_shot_with_its_input_in_chunks() -> None:
    memory = RollingMemory(short, progressive=False)
    for message in talk(40):
        memory.add_message(message)
    assert memory.state.covered == 30
    source = SummarySource.of("", talk(30))
    parts = chunks(source, 200, lambda text: len(text) // 4)
    assert len(parts) > 1
    assert [passage for part in parts for passage in part.passages] == list(source.passages)


def test_rejected_buffer_memory_had_no_control_of_timing_no_persistence_no_merge() -> None:
    memory = RollingMemory(short, compression_threshold=2, recent_messages_limit=4)
    for message in talk(6):
        memory.add_message(message)
    assert memory.state.covered == 2, "when is a setting"
    again = RollingMemory(short, compression_threshold=2, recent_messages_limit=4)
    again.state = RollingState.parse(memory.state.to_dict())
    for message in talk(8):
        again.messages.append(message)
    assert again.compress(), "what was stored goes on"
    assert "Summary so far" not in again.state.summary


def test_future_ideas_a_trigger_by_tokens_pins_and_layers_exist() -> None:
    from purser.context.compression.layers import LEAF_MESSAGES, Level

    assert ContextSettings().trigger_ratio == 0.75
    assert Level.SESSION > Level.SECTION > Level.LEAF
    assert LEAF_MESSAGES > 0
    pinned = [user("I never eat meat.", pinned=True), *talk(40), assistant("Noted.")]
    assert "I never eat meat." in [
        message.text for message in build_window(pinned, budget=500, model=MODEL, preset="cookhero").messages
    ]
