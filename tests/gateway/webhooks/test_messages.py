"""What the messages about approvals say."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from purser.budget.postgres.events.events import Event
from purser.gateway.access.sealing import Seal, new_key
from purser.gateway.approvals.links import ApprovalLinks
from purser.gateway.webhooks.messages import is_wanted, payload, payload_of_test

LINKS = ApprovalLinks(Seal([new_key()]), "https://purser.example.com/")
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def approval(cause: str, **more: Any) -> Event:
    data = {
        "approval_id": "a1", "state": "pending", "cause": cause, "asked": {"tokens": 400, "nano_usd": 0},
        "given": {"tokens": 0, "nano_usd": 0}, "deadline": (NOW + timedelta(minutes=10)).isoformat(), "by": None,
        "decisions_needed": 1, "decision": None,
    }  # fmt: skip
    return Event(7, NOW, "default", "approval", "session:s1", data | more)


@pytest.mark.parametrize(
    ("cause", "title", "text", "severity"),
    [
        ("reminded", "Reminder, approval needed: session s1", "No one has decided yet: session s1 needs", "high"),
        ("escalated", "Escalated, approval needed: session s1", "Deputies may decide now: session s1", "critical"),
    ],
)
def test_a_reminder_and_an_escalation_are_messages_of_their_own(
    cause: str, title: str, text: str, severity: str
) -> None:
    event = approval(cause)
    sent = payload(event, None, "https://purser.example.com", NOW, LINKS)
    assert (sent["type"], sent["title"], sent["severity"]) == (f"approval.{cause}", title, severity)
    assert sent["text"].startswith(text)
    assert "deadline in 10 min (12:10 UTC)" in sent["text"]
    assert is_wanted(event, (f"approval.{cause}",), None)
    assert is_wanted(event, ("approval",), None)
    assert not is_wanted(event, ("approval.pending",), None)


def test_a_test_has_the_fields_of_every_message_and_null_where_it_says_nothing() -> None:
    sent = payload_of_test("default", "https://purser.example.com", NOW)
    assert list(sent) == list(payload(approval("opened"), None, "https://purser.example.com", NOW, LINKS))
    assert {name for name, value in sent.items() if value is not None} == {
        "type", "at", "tenant", "title", "text", "severity", "url",
    }  # fmt: skip


def test_a_message_names_the_agents_and_tasks_that_wait() -> None:
    waiting = [{"task_id": "t1", "agent_id": "writer"}, {"task_id": "t2", "agent_id": ""}]
    sent = payload(approval("opened", waiting=waiting), None, "https://purser.example.com", NOW, LINKS)
    assert sent["text"].startswith("Session s1 needs 400 more tokens for agent writer of task t1, task t2: deadline")
