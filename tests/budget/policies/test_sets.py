"""Policy documents: what one says, and what it changes."""

import re
from typing import Any

import pytest

from purser.budget.errors import InvalidRequest
from purser.budget.policies.fields import Mode
from purser.budget.policies.policy import PolicyPatch
from purser.budget.policies.sets import PolicyAction, differences, read_policies
from purser.wire.limits import MAX_POLICIES

ONE, TWO = PolicyPatch(limit_tokens=1), PolicyPatch(limit_tokens=2, mode=Mode.HARD)


def test_a_document_holds_policies_of_scopes_and_templates_with_money_in_dollars() -> None:
    read = read_policies({"session:s1": {"limit_usd": "0.25"}, "agent:*/writer": {"limit_tokens": 5, "mode": "hard"}})
    assert read == {
        "session:s1": PolicyPatch(limit_nano_usd=250_000_000),
        "agent:*/writer": PolicyPatch(limit_tokens=5, mode=Mode.HARD),
    }


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"squad:*": {"limit_tokens": 1}}, "pattern 'squad:*' has no kind"),
        ({"s1": {"limit_tokens": 1}}, "scope 's1' has no kind"),
        ({"session:s1": {"limit": 1}}, "policy 'session:s1': policy has the unknown field 'limit'"),
        ({"session:s1": {}}, "policy 'session:s1': no field is set"),
        ({"session:s1": 5}, "policy 'session:s1': give an object of fields"),
        ({"session:s1": {"limit_usd": "1", "limit_nano_usd": 1}}, "limit_usd and limit_nano_usd are the same limit"),
        ({"session:s1": {"limit_usd": "a lot"}}, "policy 'session:s1': 'a lot' is no amount"),
        ({f"session:{n}": {} for n in range(MAX_POLICIES + 1)}, "at most 10000 are allowed"),
    ],
)
def test_what_is_wrong_is_named_with_its_policy(document: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidRequest, match=re.escape(said)):
        read_policies(document)


def test_differences_are_by_name_and_remove_only_what_is_pruned() -> None:
    stored = {"session:same": ONE, "session:other": ONE, "session:gone": ONE}
    wanted = {"session:same": ONE, "session:other": TWO, "session:new": TWO}
    found = [(each.name, each.action) for each in differences(stored, wanted, prune=False)]
    assert found == [("session:new", PolicyAction.CREATE), ("session:other", PolicyAction.CHANGE)]
    pruned = [(each.name, each.action) for each in differences(stored, wanted, prune=True)]
    assert pruned == [("session:gone", PolicyAction.REMOVE), *found]
    assert list(differences(wanted, wanted, prune=True)) == []


def test_null_removes_a_policy_that_is_stored() -> None:
    wanted = read_policies({"session:gone": None, "session:unknown": None})
    found = [(each.name, each.action) for each in differences({"session:gone": ONE}, wanted, prune=False)]
    assert found == [("session:gone", PolicyAction.REMOVE)]
