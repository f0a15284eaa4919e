"""Forecast, source of the limit and expiry of an approval card, in words."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from purser.budget.approval_rules import expire
from purser.budget.approvals import ApprovalRequest, ApprovalState, Choice, Identity
from purser.budget.gate import Amount
from purser.budget.policies.fields import ApprovalRules, OnExpiry
from purser.budget.policies.policy import Policy
from purser.budget.reports.finish import Finish
from purser.budget.reports.views import BudgetView
from purser.gateway.access.roles import Principal, Role
from purser.gateway.dashboard.approvals import wording
from tests.support.approving import NOW, approval_by, request, waiter

BERT = Principal("bert", "key-1", "default", Role.APPROVER)
BY_ANNA = approval_by("anna", Amount(400))
BY_NO_ONE = replace(BY_ANNA, choice=Choice.DENY, approver="sweeper", identity=Identity.SWEEPER)


def test_a_forecast_is_a_range_that_names_the_turns_behind_it() -> None:
    text = wording.finish(Finish(Amount(1_000), Amount(7_000), 3))
    assert text == "1,000 tokens to 7,000 tokens more until the waiting tasks end, by 3 turns so far"


def test_a_range_without_width_is_one_amount() -> None:
    assert wording.finish(Finish(Amount(1_000), Amount(1_000), 1)).startswith("1,000 tokens more until")


def test_without_a_turn_the_forecast_says_why_it_is_unknown() -> None:
    assert wording.finish(None) == "unknown: no turn of the waiting tasks has a reply yet"


@pytest.mark.parametrize(
    ("short", "told"),
    [
        ({}, "the task"),
        ({"limit_nano_usd": 1_000, "waiters": (waiter(500, 20),)}, "the task"),
        ({"limit_nano_usd": 100, "waiters": (waiter(10, 50),)}, "a stored policy"),
        ({"limit_nano_usd": 100, "waiters": (waiter(500, 50),)}, "the task and a stored policy"),
        ({"limit_nano_usd": 100, "state": ApprovalState.EXPIRED, "asked": Amount(0, 20)}, "a stored policy"),
    ],
)
def test_the_source_of_the_limit_is_that_of_the_limit_that_is_short(short: dict[str, Any], told: str) -> None:
    nothing, sources = Amount(), {"limit_tokens": "request", "limit_nano_usd": "stored"}
    asking = request(**short)
    budget = BudgetView(asking.scope, Policy(), sources, None, None, nothing, nothing, nothing, nothing)
    assert wording.source(asking, budget) == told


@pytest.mark.parametrize(
    ("window", "end"),
    [("lifetime", "it is used up"), ("day", "the day ends"), ("5h", "5h from now")],
)
def test_a_grant_without_a_time_lasts_as_long_as_its_window(window: str, end: str) -> None:
    nothing = Amount()
    budget = BudgetView(request().scope, Policy(window=window), {}, None, None, nothing, nothing, nothing, nothing)
    assert wording.own_end(budget) == end


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
    assert wording.expiry(expire(request(rules=rules), Amount(expired))) == outcome


@pytest.mark.parametrize(
    ("closed", "told"),
    [
        (
            request(state=ApprovalState.APPROVED, given=Amount(400), decisions=(BY_ANNA,)),
            "anna approved 400 tokens 3 s ago. Your decision changed nothing.",
        ),
        (
            request(state=ApprovalState.APPROVED, given=Amount(400), decisions=(replace(BY_ANNA, approver="bert"),)),
            "You approved 400 tokens 3 s ago. Your decision changed nothing.",
        ),
        (
            request(state=ApprovalState.DENIED, decisions=(BY_ANNA, replace(BY_ANNA, choice=Choice.DENY))),
            "anna denied this 3 s ago. Your decision changed nothing.",
        ),
        (
            request(state=ApprovalState.EXPIRED, decisions=(BY_ANNA, BY_NO_ONE)),
            "No one decided in time, so it was denied 3 s ago. Your decision changed nothing.",
        ),
        (
            request(state=ApprovalState.APPROVED, given=Amount(400), decisions=(BY_NO_ONE,)),
            "No one decided in time, so it was granted 400 tokens 3 s ago. Your decision changed nothing.",
        ),
        (
            # One of two people had approved when the limit was raised.
            request(state=ApprovalState.WITHDRAWN, decisions=(BY_ANNA,)),
            "The budget suffices, no one waits any more, or the scope asks no one: nothing is left to decide.",
        ),
    ],
)
def test_whoever_decides_too_late_reads_how_the_request_ended(closed: ApprovalRequest, told: str) -> None:
    assert wording.too_late(closed, BERT, NOW + timedelta(seconds=3)) == f"Too late: {told}"
