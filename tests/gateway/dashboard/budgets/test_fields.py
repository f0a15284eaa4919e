"""The form of a policy: pure functions. A field of policies without an input fails here."""

from dataclasses import fields, replace
from decimal import Decimal
from typing import Any

import pytest

from purser.budget.gate import Amount
from purser.budget.policies.fields import ApprovalRules, BackpressureStep, Mode, OnExpiry
from purser.budget.policies.ladder import LadderStep
from purser.budget.policies.policy import POLICY_FIELDS, Policy, PolicyPatch
from purser.budget.policies.templates import Pattern
from purser.budget.postgres.reports.scope_tree import Matches, Template
from purser.budget.reports.views import BudgetView
from purser.budget.scopes import Scope
from purser.budget.windows import Window
from purser.gateway.access.roles import Principal, Role
from purser.gateway.dashboard.actions import Refused
from purser.gateway.dashboard.budgets import form, templates
from purser.gateway.dashboard.budgets.fields import INPUTS, changes, read_patch, typed_span
from purser.gateway.dashboard.budgets.wording import sources

ADMIN = Principal("ada", "key-1", "acme", Role.ADMIN)
VIEWER = Principal("vic", "key-2", "acme", Role.VIEWER)
FULL = Policy(
    limit_tokens=20_000,
    limit_nano_usd=1_500_000_000,
    mode=Mode.APPROVAL,
    window=Window.DAY,
    timezone="Europe/Berlin",
    warn_at=(Decimal("0.5"), Decimal("0.925")),
    backpressure=(BackpressureStep(Decimal("0.8"), 50),),
    approval=ApprovalRules(("admin",), True, 500, 2_000_000_000, 5_400, OnExpiry.GRANT, 600, 300),
    frozen=True,
    shadow=True,
    learned_holds=Decimal("0.9"),
    last_answer=Decimal("0.125"),
    rollover=Decimal("0.5"),
    ladder=(
        LadderStep(Decimal("0.8"), ("openai/gpt-4o-mini", "a:b"), Decimal("0.5"), Decimal("0.625")),
        LadderStep(Decimal("0.95"), output=Decimal(300)),
    ),
)
"""A policy in which every field differs from the default."""


def typed(policy: Policy | PolicyPatch, **more: str) -> dict[str, str]:
    """The form as it is filled for a policy, with other text in some inputs."""
    return {one.name: one.text(policy) for one in INPUTS} | {
        name.replace("__", "."): text for name, text in more.items()
    }


def budget(policy: Policy = FULL, **stored: str) -> BudgetView:
    nothing = Amount()
    return BudgetView(Scope.parse("session:s1"), policy, stored, None, None, Amount(9), nothing, nothing, nothing)


def test_every_field_of_a_policy_and_of_its_rules_has_an_input() -> None:
    assert {one.policy_field for one in INPUTS} == set(POLICY_FIELDS)
    assert {one.rule for one in INPUTS if one.rule} == {one.name for one in fields(ApprovalRules)}


def test_a_value_of_every_field_is_shown_and_read_back() -> None:
    assert [name for name in POLICY_FIELDS if getattr(FULL, name) == getattr(Policy(), name)] == [], (
        "FULL lacks a field"
    )
    assert read_patch(typed(FULL)) == PolicyPatch(**{name: getattr(FULL, name) for name in POLICY_FIELDS})
    assert [field[2] for field in sources(budget()) if not field[2]] == []


@pytest.mark.parametrize("policy", [FULL, Policy(), Policy(warn_at=(), backpressure=())])
def test_a_form_that_nobody_edits_changes_nothing(policy: Policy) -> None:
    assert changes(policy, typed(policy)) == {}


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ({"limit_tokens": "2M"}, {"limit_tokens": 2_000_000}),
        ({"limit_tokens": "1 000 000"}, {"limit_tokens": 1_000_000}),
        ({"limit_tokens": "1_000k"}, {"limit_tokens": 1_000_000}),
        ({"limit_tokens": ""}, {"limit_tokens": None}),
        ({"limit_nano_usd": "$0.25"}, {"limit_nano_usd": 250_000_000}),
        ({"limit_nano_usd": "$ 1,234.50"}, {"limit_nano_usd": 1_234_500_000_000}),
        ({"limit_nano_usd": "1'234'567"}, {"limit_nano_usd": 1_234_567_000_000_000}),
        ({"mode": "hard"}, {"mode": "hard"}),
        ({"window": "month"}, {"window": "month"}),
        ({"window": "5h"}, {"window": "5h"}),
        ({"timezone": "UTC"}, {"timezone": "UTC"}),
        ({"warn_at": "80 %, 95"}, {"warn_at": ["0.8", "0.95"]}),
        ({"warn_at": "never"}, {"warn_at": []}),
        ({"warn_at": ""}, {"warn_at": None}),
        ({"backpressure": "80: 50, 95.5 %: 2 s"}, {"backpressure": [["0.8", 50], ["0.955", 2_000]]}),
        ({"backpressure": "never"}, {"backpressure": []}),
        ({"frozen": "no"}, {"frozen": False}),
        ({"shadow": "no"}, {"shadow": False}),
        ({"learned_holds": "0 %"}, {"learned_holds": "0"}),
        ({"ladder": "never"}, {"ladder": []}),
        ({"ladder": "0.9: output=25%"}, {"ladder": [{"ratio": "0.9", "output": "0.25"}]}),
    ],
)
def test_what_was_typed_differs_from_the_policy(text: dict[str, str], given: dict[str, Any]) -> None:
    assert changes(FULL, typed(FULL, **text)) == given


@pytest.mark.parametrize(
    ("name", "text", "rule"),
    [
        ("roles", "approver or admin", {"roles": ["approver", "admin"]}),
        ("not_submitter", "no", {"not_submitter": False}),
        ("two_people_above_tokens", "1k", {"two_people_above_tokens": 1_000}),
        ("two_people_above_nano_usd", "", {"two_people_above_nano_usd": None}),
        ("deadline_s", "2 h", {"deadline_s": 7_200}),
        ("on_expiry", "deny", {"on_expiry": "deny"}),
        ("remind_s", "", {"remind_s": None}),
        ("escalate_s", "45 s", {"escalate_s": 45}),
    ],
)
def test_a_rule_of_approvals_changes_and_the_others_stay(name: str, text: str, rule: dict[str, Any]) -> None:
    found = changes(FULL, typed(FULL, **{f"approval__{name}": text}))
    assert found == {"approval": FULL.approval.to_json() | rule}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ({"limit_tokens": "many"}, "Token limit: “many” is not an amount"),
        ({"limit_tokens": "3,5k"}, "Token limit: “3,5k” is not an amount. Write 3500, 3,500, 3.5k or 2M"),
        ({"limit_tokens": "50.000"}, "“50.000” is not an amount. Write 3500, 3,500, 3.5k or 2M"),
        ({"limit_tokens": "1,2,3"}, "“1,2,3” is not an amount"),
        ({"limit_tokens": "1,000 000"}, "“1,000 000” is not an amount"),
        ({"limit_nano_usd": "0,25"}, "Money limit, in dollars: “0,25” is not an amount. Write dollars with at most 9"),
        ({"limit_nano_usd": "0,250"}, "“0,250” is not an amount"),
        ({"limit_nano_usd": "$1.234,500"}, "“\\$1.234,500” is not an amount"),
        ({"warn_at": "most"}, "“most” is not a share"),
        ({"warn_at": "-5 %"}, "above 0"),
        ({"backpressure": "80 %"}, "is not a step"),
        ({"timezone": "Berlin"}, "is not known"),
        ({"ladder": "80 %"}, "Spends less at: ladder step '80 %' is not valid: write RATIO:"),
        ({"ladder": "80 %: output=1%; 80 %: output=2%"}, "two steps at 0.8"),
        ({"mode": "strict"}, "use one of"),
        ({"window": "5min"}, "rolling window"),
        ({"approval__deadline_s": "soon"}, "is not a time"),
        ({"approval__roles": "agent"}, "roles names 'agent'"),
    ],
)
def test_what_cannot_be_read_is_named(text: dict[str, str], message: str) -> None:
    with pytest.raises(Refused, match=message):
        changes(FULL, typed(FULL, **text))


def test_spans_are_shown_in_their_largest_unit() -> None:
    assert [typed_span(seconds) for seconds in (45, 1_800, 5_400, 7_200, 86_400)] == [
        "45 s",
        "30 min",
        "90 min",
        "2 h",
        "1 d",
    ]


def test_a_field_that_is_not_stored_cannot_be_reset() -> None:
    assert form.reset(budget(mode="stored"), "mode").given == {"mode": None}
    with pytest.raises(Refused, match="Mode: not stored for this scope"):
        form.reset(budget(mode="template session:*"), "mode")
    with pytest.raises(Refused, match="no such field"):
        form.reset(budget(), "__class__")
    with pytest.raises(Refused, match="Nothing differs"):
        form.read(budget(), typed(FULL))


def test_the_form_has_every_input_and_only_admins_get_it() -> None:
    shown = form.form(budget(mode="stored"), ADMIN, None, "")
    assert [one.name for one in INPUTS if f'name="{one.name}"' not in shown] == []
    assert shown.count('data-act="reset"') == 1
    hidden = form.form(budget(mode="stored"), VIEWER, None, "")
    assert "data-act" not in hidden
    assert "changing them takes admin" in hidden


def test_a_template_sets_only_what_was_chosen() -> None:
    none = typed(PolicyPatch())
    assert set(none.values()) == {""}
    assert read_patch(none) == PolicyPatch()
    assert read_patch(none | {"mode": "hard"}) == PolicyPatch(mode=Mode.HARD)
    assert read_patch(none | {"approval.deadline_s": "1 h"}) == PolicyPatch(approval=ApprovalRules(deadline_s=3_600))


def test_a_template_that_sets_or_changes_nothing_is_refused() -> None:
    hard = PolicyPatch(mode=Mode.HARD)
    with pytest.raises(Refused, match="No field is set"):
        templates.changed(hard, PolicyPatch())
    with pytest.raises(Refused, match="Nothing differs"):
        templates.changed(hard, hard)
    change = templates.changed(None, replace(hard, limit_tokens=500))
    assert templates.differences(change) == [("Token limit", "not set", "500 tokens"), ("Mode", "not set", "hard")]


def test_a_template_shows_what_it_sets_and_matches() -> None:
    pattern, matches = Pattern("session:*"), Matches(1_200, (Scope.parse("session:s1"),))
    shown = templates.form(pattern, PolicyPatch(mode=Mode.HARD), matches, ADMIN, None, "")
    assert "It matches 1,200 scopes" in shown
    assert 'data-act="remove"' in shown
    assert "Create …" in templates.form(pattern, None, Matches(0, ()), ADMIN, None, "")
    readonly = templates.form(pattern, None, Matches(0, ()), VIEWER, None, "")
    assert "<fieldset disabled" in readonly
    assert 'type="submit"' not in readonly
    listed = templates.listing([Template(pattern, PolicyPatch(mode=Mode.HARD), 1_200)], pattern)
    assert "Mode: <b>hard</b>" in listed
    assert "None yet" in templates.listing([], None)
