"""The shape of decisions that come through Temporal: nothing is refused here that the ledger would accept."""

from typing import Any

import pytest

from purser.budget.approvals import Choice, DecisionRequest
from purser.budget.errors import InvalidRequest
from purser.wire.limits import MAX_AMOUNT, MAX_DECISION_ID
from purser.workflows.contract import ApprovalDecision
from purser.workflows.decision_checks import malformed


@pytest.mark.parametrize(
    ("fields", "valid"),
    [
        ({"decision_id": ""}, False),
        ({"decision_id": "d"}, True),
        ({"decision_id": "d" * MAX_DECISION_ID}, True),
        ({"decision_id": "d" * (MAX_DECISION_ID + 1)}, False),
        ({"grant_tokens": 0}, False),
        ({"grant_tokens": 1}, True),
        ({"grant_nano_usd": 0}, False),
        ({"grant_nano_usd": MAX_AMOUNT}, True),
        ({"grant_nano_usd": MAX_AMOUNT + 1}, False),
    ],
    ids=lambda value: (
        ",".join(f"{name}={str(each)[:9]}" for name, each in value.items()) if isinstance(value, dict) else None
    ),
)
def test_ids_and_amounts_have_the_bounds_of_the_ledger(fields: dict[str, Any], valid: bool) -> None:
    sent = {"approval_id": "a", "decision_id": "d"} | fields
    assert (malformed(ApprovalDecision(decision="approve", approver="boss", **sent)) == "") == valid
    if valid:
        DecisionRequest(choice=Choice.APPROVE, **sent)
    else:
        with pytest.raises(InvalidRequest):
            DecisionRequest(choice=Choice.APPROVE, **sent)
