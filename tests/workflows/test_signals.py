"""Which signals match their handlers."""

import pytest

from purser.workflows.contract import AgentReport, ApprovalDecided, ApprovalDecision, Message
from purser.workflows.signals import matches_handler


@pytest.mark.parametrize("arguments", [[], [None], [{}], ["text", "more"], [5], [b"", b""]], ids=str)
@pytest.mark.parametrize("signal", [Message.APPROVAL, Message.APPROVAL_DECIDED, Message.AGENT_REPORT])
def test_a_missing_an_extra_and_a_foreign_argument_do_not_match(signal: str, arguments: list[object]) -> None:
    assert not matches_handler(signal, arguments)


@pytest.mark.parametrize(
    ("signal", "kind"),
    [
        (Message.APPROVAL, ApprovalDecision),
        (Message.APPROVAL_DECIDED, ApprovalDecided),
        (Message.AGENT_REPORT, AgentReport),
    ],
)
def test_only_the_argument_of_a_handler_matches_it(signal: str, kind: type) -> None:
    brought: object = object.__new__(kind)
    assert matches_handler(signal, [brought])
    assert not matches_handler(signal, [brought, brought])
    assert not any(matches_handler(other, [brought]) for other in {Message.APPROVAL, Message.AGENT_REPORT} - {signal})


@pytest.mark.parametrize("signal", [Message.PAUSE, Message.RESUME, "unknown"])
def test_a_signal_without_arguments_always_reaches_its_handler(signal: str) -> None:
    assert matches_handler(signal, [])
    assert matches_handler(signal, ["whatever"])
