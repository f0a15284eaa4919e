"""Valid and invalid reasons of a decision."""

import pytest

from purser.budget.approvals import Choice, DecisionRequest
from purser.budget.errors import InvalidRequest


@pytest.mark.parametrize("note", ["\x1b[2J", "a\tb", "a\rb", "\u202eevil", "\x9b", "\u2028"])
def test_a_note_holds_nothing_that_a_terminal_obeys(note: str) -> None:
    with pytest.raises(InvalidRequest, match="printable characters and line breaks"):
        DecisionRequest("1", "d", Choice.DENY, note=note)


def test_a_note_may_have_lines() -> None:
    assert DecisionRequest("1", "d", Choice.DENY, note="Nein, zu teuer.\n\nSpäter 😀").note


@pytest.mark.parametrize(
    "address",
    [
        "", "4711", "tickets.example.com/4711", "//tickets.example.com/4711", "https://", "https:///4711",
        "javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "https://a b", " https://a", "https://a\n",
        "java\nscript:x", "https://a/\ud800", "https://a/\0", "https://[", f"https://a/{'x' * 1_991}",
    ],
)  # fmt: skip
def test_a_ticket_is_an_address_that_a_browser_may_follow(address: str) -> None:
    with pytest.raises(InvalidRequest, match="ticket_url"):
        DecisionRequest("1", "d", Choice.DENY, ticket_url=address)


@pytest.mark.parametrize(
    "address", ["http://a", "HTTPS://tickets.example.com:8443/4711?x=1#y", f"https://a/{'x' * 1_990}"]
)
def test_a_ticket_may_lie_anywhere_on_the_web(address: str) -> None:
    assert DecisionRequest("1", "d", Choice.DENY, ticket_url=address).ticket_url == address
