"""The form that changes a budget: parsing of the input, and the effect of a change before it is made."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from purser.budget.policies.fields import Mode
from purser.budget.policies.policy import Policy, PolicyPatch
from purser.budget.reports.views import BudgetView
from purser.gateway.access.roles import Permission, Principal
from purser.gateway.dashboard.actions import Refused
from purser.gateway.dashboard.budgets.fields import EFFECTS, INPUTS, POLICY_FIELDS, changes, field_name
from purser.gateway.dashboard.budgets.wording import sources, value_of
from purser.gateway.dashboard.components import render
from purser.gateway.dashboard.formats import exact, exact_dollars


@dataclass(frozen=True, slots=True)
class Change:
    """Fields to store, as in the API; `None` resets a field to its default."""

    given: Mapping[str, Any]
    seen: Policy
    """The policy that the person saw when requesting the change."""


def read(budget: BudgetView, fields: Mapping[str, str]) -> Change:
    """The typed fields that differ from the current policy.

    Raises:
        Refused: a field is not valid, or nothing changes.
    """
    given = changes(budget.policy, fields)
    if not given:
        raise Refused("Nothing differs from the current policy.")
    return _storable(budget, given)


def reset(budget: BudgetView, name: str) -> Change:
    """The change that leaves a stored field to its next source; raises `Refused` if it is not stored."""
    if name not in POLICY_FIELDS:
        raise Refused("There is no such field.")
    return _storable(budget, {name: None})


def _storable(budget: BudgetView, given: Mapping[str, Any]) -> Change:
    for name, value in given.items():
        if value is None and budget.sources.get(name) != "stored":
            raise Refused(f"{field_name(name)}: not stored for this scope, so it cannot be removed. Enter a value.")
    return Change(given, budget.policy)


def frozen(budget: BudgetView, on: bool) -> Change:
    """The change that freezes or unfreezes a scope."""
    return Change({"frozen": on}, budget.policy)


def form(budget: BudgetView, caller: Principal, armed: Change | None, problem: str) -> Markup:
    """The form under a budget, and the source of each field of its policy.

    Args:
        budget: the current budget.
        caller: the signed-in caller.
        armed: a change that waits for confirmation.
        problem: why the last attempt failed.
    """
    policy, given = budget.policy, {} if armed is None else armed.given
    return render(
        "budgets/policy.html",
        scope=str(budget.scope),
        policy=policy,
        inputs=INPUTS,
        may_change=caller.may(Permission.SET_BUDGETS),
        role=caller.role,
        problem=problem,
        changes=[(field_name(name), value_of(policy, name), after(name, to)) for name, to in given.items()],
        effect="" if armed is None else effect(budget, armed),
        sources=sources(budget),
        stored={name: budget.sources.get(name) == "stored" for name in POLICY_FIELDS},
    )


def after(name: str, value: Any) -> str:
    """A field after the change, in words."""
    if value is None:
        return "its default"
    return value_of(PolicyPatch.parse({name: value}), name)


def effect(budget: BudgetView, change: Change) -> str:
    """The effect of a change on calls, in words."""
    if "frozen" in change.given:
        if change.given["frozen"]:
            return "From now on every call that draws on this scope is refused; those under way finish."
        return "From now on calls that fit are let through again."
    if change.given.get("shadow", budget.policy.shadow):
        return "The policy only records what it would have done: no call is refused, asked about or delayed."
    sentences = []
    if "shadow" in change.given:
        sentences.append("From now on the policy applies.")
    mode = Mode(change.given.get("mode", budget.policy.mode))
    for name, spent, held, granted, shown in _units(budget):
        limit = change.given.get(name, getattr(budget.policy, name))
        if limit is None or name not in change.given:
            continue
        room = limit + granted - spent - held
        if room < 0:
            sentences.append(f"More than that is spent and held already: from the next call on {EFFECTS[mode]}.")
        else:
            sentences.append(f"That leaves {shown(room)}.")
    if "mode" in change.given and not any("next call" in text for text in sentences):
        sentences.append(f"From the next call on {EFFECTS[mode]}.")
    sentences.append("Calls under way finish either way.")
    return " ".join(sentences)


def _units(budget: BudgetView) -> tuple[tuple[str, int, int, int, Any], ...]:
    spent, held, granted = budget.spent, budget.held, budget.granted
    return (
        ("limit_tokens", spent.tokens, held.tokens, granted.tokens, lambda count: f"{exact(count)} tokens"),
        ("limit_nano_usd", spent.nano_usd, held.nano_usd, granted.nano_usd, exact_dollars),
    )
