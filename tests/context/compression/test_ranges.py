"""Ranges that compressions cover."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from purser.context.compression.ranges import Range, choose_range
from purser.context.conversation.conversations import Conversation, MessageRef, SummaryRef
from purser.context.conversation.messages import group
from purser.context.settings import ContextSettings
from purser.context.strategies.settings import share
from tests.support.context.strategies import SETTINGS, conversations

LARGE = 100_000
"""A budget that no test exceeds."""


def refs(first: int, count: int, tokens: int = 100) -> tuple[MessageRef, ...]:
    """Messages of one size, numbered from `first`."""
    return tuple(MessageRef(first + place, "user", tokens) for place in range(count))


def chosen(*messages: MessageRef, summary: SummaryRef | None = None, budget: int = LARGE, **settings: Any) -> Range:
    """The chosen range; there must be one."""
    found = choose_range(Conversation("", messages, summary), ContextSettings(**settings), budget)
    assert found is not None
    return found


def test_everything_but_primers_and_recents_is_covered() -> None:
    span = chosen(*refs(1, 60))
    assert (span.first_seq, span.last_seq) == (4, 40)
    assert span.seqs == tuple(range(4, 41))
    assert span.tokens_before == 3_700


def test_of_23_messages_nothing_is_covered_and_of_more_only_what_gains_a_tenth() -> None:
    for count, last in ((23, None), (25, None), (26, None), (27, 7)):
        found = choose_range(Conversation("", refs(1, count)), ContextSettings(), LARGE)
        assert (found and found.last_seq) == last


def test_the_next_version_covers_what_the_last_one_did_and_more() -> None:
    span = chosen(*refs(1, 3), *refs(41, 50), summary=SummaryRef(1, 4, 40, 300))
    assert (span.first_seq, span.last_seq) == (4, 70)
    assert span.seqs == tuple(range(41, 71))
    assert span.tokens_before == 300 + 3_000


def test_former_primers_are_not_lost_when_fewer_primers_are_configured() -> None:
    span = chosen(*refs(1, 3), *refs(41, 50), summary=SummaryRef(1, 4, 40, 300), primers_count=1)
    assert span.first_seq == 4


def test_messages_passed_over_are_reported_until_they_are_covered() -> None:
    pin, rule = MessageRef(10, "user", 100, pinned=True), MessageRef(20, "system", 100)
    span = chosen(*refs(1, 9), pin, *refs(11, 9), rule, *refs(21, 40))
    assert span.passed == (10,), "system messages are never covered, so they need not be recorded"
    summary, still = SummaryRef(1, 4, 40, 300), MessageRef(10, "user", 100, pinned=True, passed_over=True)
    seen_before = MessageRef(12, "user", 100, pinned=True)
    assert chosen(*refs(1, 3), still, seen_before, *refs(41, 50), summary=summary).passed == (10,)


def test_a_message_that_was_passed_over_is_covered_once_its_pin_has_ended() -> None:
    passed_over = MessageRef(10, "user", 400, passed_over=True)
    span = chosen(*refs(1, 3), passed_over, *refs(41, 50), summary=SummaryRef(1, 4, 40, 300))
    assert (span.first_seq, span.last_seq, span.passed) == (4, 70, ())
    assert span.seqs == (10, *range(41, 71))
    assert span.tokens_before == 300 + 400 + 3_000


def test_the_newest_user_message_is_passed_over_until_a_newer_one_follows() -> None:
    steps = tuple(MessageRef(31 + place, "assistant", 100) for place in range(50))
    question = MessageRef(30, "user", 100)
    span = chosen(*refs(1, 29), question, *steps)
    assert (span.first_seq, span.last_seq, span.passed) == (4, 60, (30,))
    assert 30 not in span.seqs
    summary, still = SummaryRef(1, 4, 60, 300), question._replace(passed_over=True)
    more = tuple(MessageRef(81 + place, "assistant", 100) for place in range(50))
    assert chosen(*refs(1, 3), still, *steps[30:], *more, summary=summary).passed == (30,), "it still is the newest"
    span = chosen(*refs(1, 3), still, *steps[30:], *refs(81, 50), summary=summary)
    assert (span.first_seq, span.last_seq, span.passed) == (4, 110, ())
    assert span.seqs == (30, *range(61, 111))


def test_the_newest_user_message_is_passed_over_with_the_call_that_it_interrupts() -> None:
    nested = (
        MessageRef(30, "assistant", 100, ("c",)),
        MessageRef(31, "user", 100),
        MessageRef(32, "tool", 100, (), "c"),
    )
    steps = (MessageRef(33 + place, "assistant", 100) for place in range(50))
    span = chosen(*refs(1, 29), *nested, *steps)
    assert span.passed == (30, 31, 32)
    assert not {30, 31, 32} & set(span.seqs)


def test_a_range_that_begins_with_the_newest_user_message_includes_it_for_later_versions() -> None:
    steps = tuple(MessageRef(2 + place, "assistant", 100) for place in range(60))
    span = chosen(MessageRef(1, "user", 100), *steps, primers_count=0, keeps_first_request=False)
    assert (span.first_seq, span.passed, span.seqs[0]) == (1, (1,), 2)


def test_of_a_session_whose_task_asks_the_newest_question_every_user_message_may_be_covered() -> None:
    conversation = Conversation("", (*refs(1, 29), *(MessageRef(30 + place, "assistant", 100) for place in range(50))))
    span = choose_range(conversation, ContextSettings(), LARGE, question_follows=True)
    assert span is not None
    assert (29 in span.seqs, span.passed) == (True, ())


def test_where_only_the_newest_user_message_is_left_there_is_nothing_to_cover() -> None:
    question, last = MessageRef(41, "user", 5_000), MessageRef(42, "assistant", 100)
    conversation = Conversation("", (*refs(1, 3), question, last), SummaryRef(1, 4, 40, 300))
    assert choose_range(conversation, ContextSettings(), 1_000) is None


def test_pins_and_system_messages_in_between_stay_verbatim() -> None:
    pin, rule = MessageRef(10, "user", 100, pinned=True), MessageRef(20, "system", 100)
    span = chosen(*refs(1, 9), pin, *refs(11, 9), rule, *refs(21, 40))
    assert not {10, 20} & set(span.seqs)
    assert (span.first_seq, span.last_seq) == (4, 40)


def test_recents_give_way_in_whole_groups_until_the_target_is_met() -> None:
    # Target 0.375 x 4,000 = 1,500: three primers, the summary, and what is left for recents.
    span = chosen(*refs(1, 30), budget=4_000)
    remaining = 30 - len(span.seqs)
    assert remaining * 100 + span.most_tokens <= 1_500
    assert span.most_tokens == len(span.seqs) * 100 // 4
    assert (remaining + 1) * 100 + (len(span.seqs) - 1) * 100 // 4 > 1_500, "no more recents are covered than necessary"


@pytest.mark.parametrize(("tokens", "budget"), [(120, 4_000), (120, 8_000), (400, 16_003), (400, 32_000)])
def test_recents_leave_a_summary_of_a_long_conversation_its_share_of_the_target(tokens: int, budget: int) -> None:
    span = chosen(*refs(1, 360, tokens), budget=budget)
    target = share(budget, 0.375)
    assert 0.4 * target <= span.most_tokens <= target - (360 - len(span.seqs)) * tokens
    assert 360 - len(span.seqs) > 3 + 1, "what was said last stays"


def test_a_summary_gets_its_share_even_where_system_messages_take_the_target() -> None:
    # Target 0.375 x 4,000 = 1,500, of which the summary gets 600; the trigger is 3,000.
    rules = MessageRef(1, "system", 1_300)
    assert chosen(rules, *refs(2, 30), budget=4_000).most_tokens == 600
    larger = MessageRef(1, "system", 2_000)
    remaining = 2_000 + 3 * 100 + 100
    assert chosen(larger, *refs(2, 30), budget=4_000).most_tokens == (3_000 - remaining) // 2, "half of what is left"
    largest = MessageRef(1, "system", 2_900)
    assert chosen(largest, *refs(2, 30), budget=4_000).most_tokens == ContextSettings().summary_min_tokens


def test_a_call_and_its_result_are_covered_together_or_not_at_all() -> None:
    steps = [
        ref
        for number in range(20)
        for ref in (
            MessageRef(2 * number + 1, "assistant", 100, ("c",)),
            MessageRef(2 * number + 2, "tool", 100, (), "c"),
        )
    ]
    span = chosen(*steps, primers_count=1, recents_count=5)
    assert (span.first_seq, span.last_seq) == (3, 34)


def test_the_last_group_stays_whatever_it_takes() -> None:
    calls = MessageRef(9, "assistant", 3_000, ("a", "b"))
    said = MessageRef(8, "assistant", 100)
    span = chosen(*refs(1, 7), said, calls, MessageRef(10, "tool", 100, (), "a"), budget=1_000, primers_count=0)
    assert span.last_seq == 8


def test_a_call_that_waits_for_its_result_is_not_covered_until_an_assistant_has_spoken_after_it() -> None:
    steps = (*refs(1, 20), MessageRef(21, "assistant", 100, ("a", "b")), MessageRef(22, "tool", 100, (), "a"))
    assert chosen(*steps, *refs(23, 20), primers_count=0, recents_count=5).last_seq == 20
    spoken = MessageRef(43, "assistant", 100)
    assert chosen(*steps, *refs(23, 20), spoken, primers_count=0, recents_count=5).last_seq == 38


def test_a_summary_takes_a_quarter_of_what_it_newly_covers_at_most() -> None:
    assert chosen(*refs(1, 60)).most_tokens == 3_700 // 4
    old = SummaryRef(1, 4, 40, 300)
    assert chosen(*refs(1, 3), *refs(41, 50), summary=old).most_tokens == 300 + 3_000 // 4


def test_the_length_of_summaries_is_bounded_however_long_the_session_gets() -> None:
    settings, budget = ContextSettings(), 8_000
    summary, longest, seqs = None, 0, 0
    for _ in range(30):
        seqs += 40
        span = choose_range(Conversation("", refs(1, seqs), summary), settings, budget)
        assert span is not None
        summary = SummaryRef(1, span.first_seq, span.last_seq, span.most_tokens)
        longest = max(longest, span.most_tokens)
    assert longest <= share(budget, settings.target_ratio)


@given(conversation=conversations(""), settings=SETTINGS, budget=st.integers(0, 20_000))
def test_a_range_is_made_of_whole_groups_extends_the_last_one_and_gains(
    conversation: Conversation, settings: ContextSettings, budget: int
) -> None:
    span = choose_range(conversation, settings, budget)
    if span is None:
        return
    old = conversation.summary
    by_seq = {ref.seq: ref for ref in conversation.messages}
    shown = [seq for one in conversation.groups for seq in one.seqs if by_seq[seq].role == "user"]
    always = {*shown[:1], *shown[-1:], *(seq for seq, ref in by_seq.items() if ref.fixed)}
    assert not always & set(span.seqs)
    assert span.freed * 10 >= conversation.tokens > 0
    assert old is None or (span.first_seq == old.first_seq and span.last_seq > old.last_seq)
    for whole in group(conversation.messages):
        seqs = {ref.seq for ref in conversation.messages[whole.start : whole.stop]}
        assert seqs <= set(span.seqs) or not seqs & set(span.seqs)
        covered_before = old is not None and max(seqs) <= old.last_seq
        inside = span.first_seq <= min(seqs) <= span.last_seq
        stays = bool(seqs & always)
        assert not inside or covered_before or stays or seqs <= set(span.seqs), "nothing in the range is left out"
        said = {seq for seq in seqs if by_seq[seq].role != "system"}
        assert not inside or covered_before or not stays or said <= set(span.passed)
    assert conversation.messages[-1].seq not in span.seqs
