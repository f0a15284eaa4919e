"""The order of lists, and what a change says."""

from dataclasses import replace

from purser.budget.gate import Amount
from purser.budget.policies.fields import ApprovalRules
from purser.budget.policies.policy import Policy
from purser.budget.postgres.reports.scope_tree import Node
from purser.budget.reports.views import BudgetView
from purser.budget.scopes import Scope
from purser.gateway.dashboard.budgets.form import Change, after, effect
from purser.gateway.dashboard.budgets.tree import Line, by_use
from purser.gateway.dashboard.budgets.wording import figures, recorded, value_of


def budget(spent: int) -> BudgetView:
    """A budget with a limit of 100 tokens."""
    nothing = Amount()
    policy = Policy(limit_tokens=100)
    return BudgetView(Scope.parse("session:s"), policy, {}, None, None, Amount(spent), nothing, nothing, nothing)


def test_budgets_are_sorted_by_use_and_those_of_ended_tasks_come_last() -> None:
    views = {
        "over": budget(150),
        "half": budget(50),
        "free": replace(budget(900), policy=Policy()),
        "blocked": replace(budget(0), policy=Policy(limit_tokens=0)),
        "ended": budget(190),
    }
    scopes = {name: Scope.parse(f"session:{name}") for name in views}
    lines = [Line(Node(scopes[name], False, has_ended=name == "ended"), 0, name) for name in views]
    found = by_use([Line(None, 0, "more"), *lines], {scopes[name]: view for name, view in views.items()})
    assert [line.path for line in found] == ["blocked", "over", "half", "free", "ended", "more"]


def test_amounts_that_differ_by_less_than_a_cent_differ_in_words() -> None:
    policy = Policy(limit_nano_usd=1_001_000_000, approval=ApprovalRules(two_people_above_nano_usd=1_000_000_001))
    assert (value_of(policy, "limit_nano_usd"), after("limit_nano_usd", 1_004_900_000)) == ("$1.001", "$1.0049")
    assert "two people above $1.000000001" in value_of(policy, "approval")
    spent = replace(budget(0), policy=policy, spent=Amount(0, 2_000_000_001))
    assert {name: values[1] for name, values in figures(spent)} == {
        "Spent": "$2.000000001", "Held": "$0.00", "Granted": "$0.00", "Limit": "$1.001", "Left": "−$0.999000001",
        "Overrun": "$0.00",
    }  # fmt: skip
    assert "leaves $0.000999999." in effect(spent, Change({"limit_nano_usd": 2_001_000_000}, policy))


def test_a_policy_in_shadow_says_what_it_would_have_done() -> None:
    assert recorded(budget(5)) == ""
    shadow = replace(budget(5), policy=Policy(limit_tokens=1, shadow=True))
    assert recorded(shadow) == "Nothing in this window so far."
    counted = {"refuse": 1_200, "ask": 0, "wait": 0, "delay": 1}
    assert recorded(replace(shadow, would=counted)) == "refuse 1,200 calls, delay 1 call"


def test_a_change_in_shadow_has_no_effect_on_calls() -> None:
    now = budget(50)
    assert "no call is refused" in effect(now, Change({"limit_tokens": 10, "shadow": True}, now.policy))
    shadow = replace(now, policy=Policy(limit_tokens=100, shadow=True))
    assert "no call is refused" in effect(shadow, Change({"mode": "hard"}, shadow.policy))
    ended = effect(shadow, Change({"shadow": False, "mode": "hard"}, shadow.policy))
    assert ended == (
        "From now on the policy applies. From the next call on what does not fit is refused. "
        "Calls under way finish either way."
    )
