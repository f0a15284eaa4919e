"""Explanations of where a message is, and why."""

from datetime import UTC, datetime

import pytest

from purser.context.conversation.conversations import Conversation, MessageRef, SummaryRef
from purser.context.conversation.pins import Pin
from purser.context.facts import Fact, Kind
from purser.context.windows.explain import Places, State, explain

NOW = datetime(2026, 11, 20, tzinfo=UTC)
FACT = Fact(6, Kind.ID, "order", "number", "1001", "It is order 1001.", "user")
REFS = (
    MessageRef(1, "system", 10),
    MessageRef(2, "user", 10),
    MessageRef(3, "assistant", 10),
    MessageRef(4, "user", 10),
    MessageRef(5, "assistant", 10, call_ids=("c1",)),
    MessageRef(6, "tool", 10, tool_call_id="c1"),
    MessageRef(7, "user", 10),
    MessageRef(8, "assistant", 10),
)
STORED = Conversation("", REFS, SummaryRef(3, 4, 6, 20))
PLACES = Places(frozenset({1, 2, 7, 8}), frozenset({7}), frozenset({4, 5, 6}), {3: "over_budget"}, 3)


@pytest.mark.parametrize(
    ("seq", "state", "reason"),
    [
        (1, State.VERBATIM, "system messages always stay"),
        (2, State.VERBATIM, "the first user message always stays"),
        (3, State.VERBATIM, "it is one of the first messages, which summaries leave out"),
        (4, State.SUMMARY, "covered by summary version 3"),
        (7, State.VERBATIM, "the newest user message always stays"),
        (8, State.VERBATIM, "it is newer than what summary version 3 covers"),
    ],
)
def test_in_the_conversation_as_it_is_stored(seq: int, state: State, reason: str) -> None:
    found = explain(seq, STORED)
    assert (found.states, found.reason) == ((state,), reason)
    assert found.version == (3 if state is State.SUMMARY else 0)


def test_without_a_summary_everything_is_verbatim() -> None:
    assert explain(3, Conversation("", REFS)).reason == "no summary covers the conversation"


def test_the_reason_names_the_first_version_that_covered_it() -> None:
    assert explain(4, STORED, first_version=2).reason == "covered by summary version 3, since version 2"
    assert explain(4, STORED, first_version=3).reason == "covered by summary version 3"


def test_a_pin_is_explained_with_its_author_and_end_and_so_is_its_group() -> None:
    refs = (*REFS[:5], MessageRef(6, "tool", 10, tool_call_id="c1", pinned=True), *REFS[6:])
    pinned = Conversation("", refs, STORED.summary)
    pin = Pin(6, "ana", "secret reason", NOW, NOW)
    found = explain(6, pinned, pins=[pin])
    assert (found.states, found.reason) == ((State.PINNED,), "pinned by ana until 2026-11-20T00:00Z")
    assert explain(5, pinned, pins=[pin]).reason == "it belongs to the tool calls of message 6, which is pinned"


def test_a_message_that_a_summary_passed_over_is_explained() -> None:
    refs = (*REFS[:3], MessageRef(4, "user", 10, passed_over=True), *REFS[4:])
    found = explain(4, Conversation("", refs, STORED.summary))
    assert found.states == (State.VERBATIM,)
    assert "no summary covers it before the next version" in found.reason


def test_a_current_fact_is_listed_in_addition_to_the_state_of_its_message() -> None:
    assert explain(6, STORED, facts=[FACT]).states == (State.SUMMARY, State.FACT)
    old = Fact(6, Kind.ID, "order", "number", "1001", "It is order 1001.", "user", superseded_by=8)
    assert explain(6, STORED, facts=[old]).states == (State.SUMMARY,)


@pytest.mark.parametrize(
    ("seq", "state", "reason"),
    [
        (3, State.DROPPED, "over_budget"),
        (4, State.SUMMARY, "covered by summary version 3"),
        (7, State.CLIPPED, "it is too large for the window, which shows its beginning and end"),
        (8, State.VERBATIM, "it is newer than what summary version 3 covers"),
    ],
)
def test_in_one_window(seq: int, state: State, reason: str) -> None:
    found = explain(seq, STORED, first_version=1 if seq == 4 else 0, places=PLACES)
    assert found.states == (state,)
    assert found.reason.startswith(reason)


def test_a_window_may_write_a_summary_of_its_own_and_show_what_is_covered() -> None:
    own = Places(frozenset({1, 2, 4, 7, 8}), frozenset(), frozenset({3, 5, 6}), {}, 0)
    assert explain(5, STORED, first_version=3, places=own).version == 0
    assert explain(4, STORED, first_version=3, places=own).reason == "the window has room for it"
