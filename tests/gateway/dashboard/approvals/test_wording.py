"""Forecast and expiry of an approval card, in words."""

import pytest

from purser.budget.gate import Amount
from purser.budget.policies.fields import ApprovalRules, OnExpiry
from purser.budget.reports.finish import Finish
from purser.gateway.dashboard.approvals import wording
from tests.support.approving import request


def test_a_forecast_is_a_range_that_names_the_turns_behind_it() -> None:
    text = wording.finish(Finish(Amount(1_000), Amount(7_000), 3))
    assert text == "1,000 tokens to 7,000 tokens more until the waiting tasks end, by 3 turns so far"


def test_a_range_without_width_is_one_amount() -> None:
    assert wording.finish(Finish(Amount(1_000), Amount(1_000), 1)).startswith("1,000 tokens more until")


def test_without_a_turn_the_forecast_says_why_it_is_unknown() -> None:
    assert wording.finish(None) == "unknown: no turn of the waiting tasks has a reply yet"


@pytest.mark.parametrize(
    ("rules", "expired", "outcome"),
    [
        (ApprovalRules(), 0, "denied"),
        (ApprovalRules(on_expiry=OnExpiry.GRANT), 0, "granted"),
        (ApprovalRules(on_expiry=OnExpiry.GRANT, two_people_above_tokens=400), 0, "granted"),
        (ApprovalRules(on_expiry=OnExpiry.GRANT, two_people_above_tokens=399), 0, "denied"),
        (ApprovalRules(on_expiry=OnExpiry.GRANT, two_people_above_tokens=400), 1, "denied"),
    ],
)
def test_the_outcome_at_the_deadline_is_that_of_the_rules(rules: ApprovalRules, expired: int, outcome: str) -> None:
    assert wording.expiry(request(rules=rules), Amount(expired)) == outcome
