"""Windows of message lists: invariants of all strategies, and behaviour of each."""

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from purser.benchmarks.data import rows
from purser.benchmarks.windows import WAYS, beginnings, check
from purser.benchmarks.windows.checks import Case, messages_of
from purser.context.compression.extracts.extraction import extract
from purser.context.compression.requests import CountText, SummarySource
from purser.context.conversation.messages import Message
from purser.context.errors import WindowTooSmall
from purser.context.strategies import WINDOW_PRESETS
from tests.support.context.conversations import calling, result, talk, user
from tests.support.context.windows import MODEL, SYSTEM, counted, indexes, requested, texts, window

# --- properties ------------------------------------------------------------------------------------------------------


@st.composite
def transcripts(draw: st.DrawFn) -> list[Message]:
    """Conversations with parallel, nested, pending and late calls, pins and system messages, from any place on."""
    found = [SYSTEM] if draw(st.booleans()) else []
    number = 0
    for _ in range(draw(st.integers(1, 14))):
        words = "word " * draw(st.integers(1, 150))
        match draw(st.sampled_from(("user", "user", "assistant", "calls", "system", "late"))):
            case "user":
                found.append(Message("user", words, pinned=draw(st.integers(0, 9)) == 0))
            case "assistant":
                found.append(Message("assistant", words, pinned=draw(st.integers(0, 14)) == 0))
            case "system":
                found.append(Message("system", "Note."))
            case "late":
                found.append(result(f"c{draw(st.integers(0, 2))}-0", words))
            case "calls":
                # Ids repeat along a conversation, as some providers do it.
                ids = [f"c{number % 3}-{place}" for place in range(draw(st.integers(1, 3)))]
                number += 1
                answered = draw(st.permutations(ids))[: draw(st.integers(0, 3))]
                nested = [user("and another thing")] if draw(st.integers(0, 4)) == 0 else []
                found += [calling(*ids), *nested, *(result(identifier, words) for identifier in answered)]
    return found


def problems(messages: list[Message], budget: int, strategy: str | None, preset: str | None) -> list[str]:
    """The faults of a window."""
    first = preset is None or WINDOW_PRESETS[preset].settings.keeps_first_request
    case = Case(messages, counted(messages), budget, MODEL, first)
    return [found for found in check(case, strategy, preset, beginnings) if found not in ("right", "refused")]


@settings(max_examples=120, deadline=None)
@given(messages=transcripts(), share=st.floats(-0.1, 1.1), way=st.sampled_from(WAYS))
def test_a_window_is_whole_fits_is_maximal_and_loses_nothing_silently(
    messages: list[Message], share: float, way: tuple[str | None, str | None]
) -> None:
    case = Case(messages, counted(messages), 0, MODEL)
    least, whole = case.least(), case.whole()
    assert problems(messages, max(1, least + int(share * (whole - least))), *way) == []


@pytest.mark.proof
@pytest.mark.parametrize("name", ["tau_airline", "sweagent", "whowhen", "crosswoz"])
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way[0] or way[1])
def test_no_cut_of_a_real_conversation_breaks_anything(
    shared_data: Path, seed: int, name: str, way: tuple[str | None, str | None]
) -> None:
    chance = random.Random(f"{seed}/{name}/{way}")
    conversations = [messages_of(row) for row in rows(shared_data, name)]
    for _ in range(12):
        whole = chance.choice(conversations)
        seen = whole[: chance.randint(1, len(whole))]
        tokens = requested(seen)
        budget = max(20, int(tokens * chance.choice((0.1, 0.25, 0.5, 0.75, 0.95))))
        assert problems(seen, budget, *way) == [], f"{len(seen)} messages, budget {budget}"


@settings(max_examples=60, deadline=None)
@given(messages=transcripts(), share=st.floats(0.2, 3.0), way=st.sampled_from(WAYS))
def test_a_compaction_never_grows_the_window_and_is_not_reported_if_it_did_not_help(
    messages: list[Message], share: float, way: tuple[str | None, str | None]
) -> None:
    case = Case(messages, counted(messages), 0, MODEL)
    whole = case.whole()
    try:
        found = window(messages, int(share * whole), way[0], preset=way[1])
    except WindowTooSmall:
        return
    left_out = (at for at, span in enumerate(case.groups) if span.start not in found.indexes)
    not_added = sum(case.size(at) - sum(case.counts[index] for index in case.groups[at]) for at in left_out)
    assert found.tokens + found.stats.tokens_saved == whole - not_added
    assert (found.stats.tokens_saved > 0) == found.stats.optimization_applied


@pytest.mark.parametrize(("preset", "count"), [("cookhero", 16), ("education", 41)])
def test_short_messages_above_a_trigger_by_number_stay_as_they_are(preset: str, count: int) -> None:
    messages = [user("ok") if number % 2 == 0 else Message("assistant", "sure") for number in range(count)]
    found = window(messages, 20_000, preset=preset)
    assert list(found.messages) == messages
    assert (found.stats.optimization_applied, found.stats.tokens_saved) == (False, 0)


# --- what always stays, and what does not fit ------------------------------------------------------------------------


def test_what_fits_is_returned_as_it_is() -> None:
    messages = [SYSTEM, *talk(4)]
    found = window(messages, 1_000)
    assert list(found.messages) == messages
    assert found.tokens == requested(messages)
    assert not found.stats.optimization_applied
    assert (found.stats.messages_removed, found.stats.tokens_saved) == (0, 0)


def test_what_cannot_fit_is_an_error_that_names_it() -> None:
    messages = [SYSTEM, *talk(8), user("keep this in mind " * 20, pinned=True), *talk(3)]
    with pytest.raises(WindowTooSmall, match=r"pins: 8\d tokens; newest user message, index 12: 21 tokens\)") as caught:
        window(messages, 130)
    assert caught.value.budget == 130


def test_one_message_larger_than_the_whole_budget_is_clipped_and_reported() -> None:
    long = " ".join(f"line {number}" for number in range(3_000))
    found = window([SYSTEM, *talk(6), user(long)], 500, "token_truncation")
    shown = found.messages[-1].text
    assert found.tokens <= 500
    assert shown.startswith("line 0 line 1")
    assert shown.endswith("line 2999")
    [clipped] = found.stats.clipped
    assert clipped.index == 7
    assert clipped.tokens_left_out > 5_000
    assert "tokens left out" in shown


def test_a_tool_result_larger_than_the_whole_budget_is_clipped_and_stays_with_its_call() -> None:
    messages = [SYSTEM, user("Look it up."), calling("a", "b"), result("a", "row " * 5_000), result("b", "short")]
    found = window(messages, 600)
    assert indexes(found) == [0, 1, 2, 3, 4]
    assert [one.index for one in found.stats.clipped] == [3]
    assert found.messages[-1].text == "short"


def test_a_system_message_or_a_pin_is_never_clipped() -> None:
    for large in (Message("system", "rule " * 900), user("pinned " * 900, pinned=True)):
        with pytest.raises(WindowTooSmall):
            window([large, *talk(3)], 500)


@pytest.mark.parametrize("fault", ["raises", "too long"])
def test_where_a_summarizer_fails_an_extract_replaces_it(fault: str) -> None:
    def failing(source: SummarySource, most_tokens: int, count: CountText) -> str:
        if fault == "raises":
            raise TimeoutError
        return "much too long " * most_tokens

    found = window(talk(60), 700, summarize=failing)
    assert found.stats.summary_generated
    assert found == window(talk(60), 700, summarize=extract)


def test_a_summarizer_that_says_nothing_leaves_room_for_more_of_the_conversation() -> None:
    found = window(talk(60), 700, summarize=lambda source, most_tokens, count: "")
    assert not found.stats.summary_generated
    assert len(found.messages) > len(window(talk(60), 700).messages)


@pytest.mark.parametrize("strategy", ["summary", "three_part", "hybrid"])
@pytest.mark.parametrize("room", [40, 60, 90, 200])
def test_nothing_is_dropped_where_what_always_stays_leaves_room_for_a_summary(strategy: str, room: int) -> None:
    unbroken = [
        user("First."),
        Message("assistant", "数" * 400),
        *talk(30),
        user("Last."),
        Message("assistant", "Yes."),
    ]
    counts = counted(unbroken)
    found = window(unbroken, Case(unbroken, counts, 0, MODEL).least() + room, strategy)
    assert found.dropped == ()
    assert found.stats.summary_generated


@pytest.mark.parametrize("strategy", ["summary", "three_part", "hybrid"])
def test_a_summary_of_a_small_window_gets_its_header_and_some_60_tokens(strategy: str) -> None:
    found = window(talk(60), 160, strategy)
    [summary] = [message for message, index in zip(found.messages, found.indexes, strict=True) if index is None]
    assert counted([summary])[0] >= 75


def test_a_user_message_amid_a_tool_call_is_the_newest_one_too() -> None:
    amid = [calling("a"), user("Faster, please."), result("a")]
    messages = [SYSTEM, *talk(20), *amid, *(Message("assistant", f"step {number}") for number in range(20))]
    assert {21, 22, 23} <= set(indexes(window(messages, 130, "token_truncation")))


def test_an_open_call_stays_until_an_assistant_speaks_again() -> None:
    before = [SYSTEM, *talk(10)]
    waiting = window([*before, calling("approval"), *(user(f"Hurry, {number}.") for number in range(20))], 260)
    assert set(range(11, 32)) <= set(indexes(waiting)), "its result may still join it"
    found = window([*before, calling("approval"), calling("a"), result("a"), *talk(40)], 200)
    assert {11, 12}.isdisjoint(indexes(found)), "it waits in vain"


def test_the_first_group_shown_comes_with_its_request() -> None:
    messages = [*talk(10), Message("assistant", "Agreed.", pinned=True), *talk(40)]
    found = window(messages, 300, preset="education")
    assert indexes(found)[:2] == [8, 10]
    assert found.tokens <= 300


def test_a_first_request_amid_a_call_begins_a_window_that_takes_all_that_fits() -> None:
    messages = [
        calling("a"),
        user("Find it."),
        result("a"),
        *(Message("assistant", f"step {n}") for n in range(30)),
        user("?"),
    ]
    found = window(messages, 150, "token_truncation")
    assert indexes(found)[:3] == [0, 2, 1], "a result follows its call"
    assert len(found.messages) > 10


def test_settings_come_first_and_memory_goes_before_the_newest_user_message() -> None:
    personal, memory = Message("system", "Call me Ada."), Message("system", "Found: Haven 3.")
    messages = [SYSTEM, *talk(20), user("Where is it?"), calling("a"), result("a")]
    found = window(messages, 400, personal=personal, memory=memory)
    assert texts(found)[:2] == ["Call me Ada.", SYSTEM.text]
    assert texts(found)[-4:] == ["Found: Haven 3.", "Where is it?", "", "found"]
    assert found.tokens == requested(list(found.messages)) <= 400
