"""What `purser approvals show` prints of an answer of the API."""

from typing import Any

import pytest

from purser.compose.cli.api import approvals

NOTHING = {"spent": 0, "held": 0, "granted": 0}
REQUEST: dict[str, Any] = {
    "approval_id": "1", "state": "pending", "scope": "session:s1", "asked": {"tokens": 0, "nano_usd": 5_250_000_000},
    "tokens": NOTHING, "nano_usd": {"spent": 90_000_000_000, "held": 4_900_000, "granted": 1_000_000_000},
    "limit_tokens": None, "limit_nano_usd": 100_000_000_000, "decisions_needed": 2, "deadline": "later",
    "rules": {"on_expiry": "deny"}, "task_id": "", "waiters": [], "purposes": [], "effects": None, "finish": None,
    "related": [], "decisions": [],
}  # fmt: skip
APPROVED = {
    "decision": "approve", "approver": "ana", "at": "now", "note": None, "ticket_url": None,
    "grant_tokens": 1_000, "grant_nano_usd": 250_000_000, "until": None,
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({}, "tokens     0 spent, 0 held, 0 granted, limit -"),
        ({}, "money      $90.00 spent, $0.0049 held, $1.00 granted, limit $100.00"),
        ({}, "to grant   2 more people have to approve"),
        ({"decisions_needed": 1}, "to grant   1 more person has to approve"),
        ({"decisions": [APPROVED]}, "approve by ana at now, 1,000 tokens, $0.25"),
        ({"decisions": [APPROVED | {"until": "then"}]}, "approve by ana at now, 1,000 tokens, $0.25, until then"),
        ({"decisions": [APPROVED | {"decision": "deny", "note": "no"}]}, "deny by ana at now: no"),
    ],
)
def test_a_request_shows_money_grants_and_who_is_needed(
    change: dict[str, Any], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    approvals._print(REQUEST | change)
    assert line in capsys.readouterr().out.splitlines()


def test_a_request_without_a_money_limit_shows_no_figures_in_money(capsys: pytest.CaptureFixture[str]) -> None:
    approvals._print(REQUEST | {"limit_nano_usd": None})
    assert "money" not in capsys.readouterr().out
