"""The decision that the form of a request sends."""

import pytest

from purser.budget.approvals import Choice
from purser.gateway.dashboard.actions import Refused
from purser.gateway.dashboard.approvals.form import Draft


def test_an_approval_without_an_amount_is_not_sent_as_one_of_whatever_is_missing() -> None:
    with pytest.raises(Refused, match="there is nothing to grant"):
        Draft(Choice.APPROVE).body()
