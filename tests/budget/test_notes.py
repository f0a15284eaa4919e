"""What a note of a decision may hold."""

import pytest

from purser.budget.approvals import Choice, DecisionRequest
from purser.budget.errors import InvalidRequest


@pytest.mark.parametrize("note", ["\x1b[2J", "a\tb", "a\rb", "\u202eevil", "\x9b", "\u2028"])
def test_a_note_holds_nothing_that_a_terminal_obeys(note: str) -> None:
    with pytest.raises(InvalidRequest, match="printable characters and line breaks"):
        DecisionRequest("1", "d", Choice.DENY, note=note)


def test_a_note_may_have_lines() -> None:
    assert DecisionRequest("1", "d", Choice.DENY, note="Nein, zu teuer.\n\nSpäter 😀").note
