"""Gaps of excerpts: no group reaches into what planning does not read."""

import pytest

from purser.context.conversation.conversations import MessageRef
from purser.context.windows.excerpts import gap_begin, gap_end


def said(*seqs: int) -> list[MessageRef]:
    return [MessageRef(seq, "user" if seq % 2 else "assistant", 10) for seq in seqs]


def calls(seq: int, *identifiers: str) -> MessageRef:
    return MessageRef(seq, "assistant", 10, identifiers)


def answers(seq: int, identifier: str) -> MessageRef:
    return MessageRef(seq, "tool", 10, tool_call_id=identifier)


def test_a_gap_begins_before_a_call_whose_results_it_holds() -> None:
    older = [*said(1, 2), calls(3, "a", "b"), answers(4, "a")]
    assert gap_begin(older, 5, opening=1, covered=0, primers=2) == 3
    assert gap_begin([*older, answers(5, "b")], 6, opening=1, covered=0, primers=2) == 6


@pytest.mark.parametrize(("opening", "primers"), [(1, 3), (3, 0)])
def test_without_its_primers_a_thread_is_read_whole(opening: int, primers: int) -> None:
    assert gap_begin(said(1, 2), 3, opening=opening, covered=0, primers=primers) is None
    assert gap_begin(said(1, 2), 3, opening=opening, covered=2, primers=primers) == 3, "a summary covers them"


def test_a_gap_ends_after_the_last_result_of_a_call_that_it_holds() -> None:
    assert gap_end([answers(9, "a"), *said(11), answers(12, "b"), *said(13)], 8) == 12
    assert gap_end([calls(9, "a"), answers(10, "a"), *said(11)], 8) == 8


def test_a_gap_ends_before_the_turns_after_which_a_result_comes_too_late_for_its_call() -> None:
    assert gap_end([*said(9, 10, 11), answers(12, "a"), *said(13)], 8) == 8
    assert gap_end([answers(9, "a"), *said(11, 12, 13), answers(14, "b")], 8) == 9


def test_a_gap_begins_at_no_call_that_has_stopped_waiting() -> None:
    older = [*said(1, 2), calls(3, "a"), *said(5, 6)]
    assert gap_begin(older, 7, opening=1, covered=0, primers=2) == 7
