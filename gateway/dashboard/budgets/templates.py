"""Templates on the page of budgets: the list, the form of one, and what a change of it does."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from purser.budget.policies.policy import PolicyPatch
from purser.budget.policies.templates import Pattern
from purser.budget.postgres.reports.scope_tree import Matches, Template
from purser.gateway.access.roles import Permission, Principal
from purser.gateway.dashboard.actions import Refused
from purser.gateway.dashboard.budgets.fields import INPUTS, POLICY_FIELDS, field_name
from purser.gateway.dashboard.budgets.wording import value_of
from purser.gateway.dashboard.components import render
from purser.gateway.dashboard.visit import Visit

SHOWN = 5
"""Number of matching scopes that are named."""
NOT_SET = "not set"


@dataclass(frozen=True, slots=True)
class TemplateChange:
    """A change of a template that waits for confirmation."""

    seen: PolicyPatch | None
    """The template that the person saw; `None`: there was none."""
    after: PolicyPatch | None
    """`None` removes it."""


def changed(seen: PolicyPatch | None, after: PolicyPatch | None) -> TemplateChange:
    """The change from one template to another; raises `Refused` if it changes or sets nothing."""
    if after == PolicyPatch():
        raise Refused("No field is set. Set one, or remove the template.")
    if after == seen:
        raise Refused("Nothing differs from the current template.")
    return TemplateChange(seen, after)


async def store(visit: Visit, pattern: Pattern, change: TemplateChange) -> None:
    """Stores a template, or removes it; raises `Refused`."""

    async def apply(caller: Principal) -> None:
        now = await stored(visit, pattern)
        if now != change.seen:
            raise Refused("Someone else has changed this template in the meantime. Check it, then change it.")
        await visit.services.policy_sets.apply(caller.tenant, {str(pattern): change.after}, by=caller)

    await visit.perform(Permission.SET_BUDGETS, "change budgets", apply)


async def stored(visit: Visit, pattern: Pattern) -> PolicyPatch | None:
    """The template of a pattern; `None` if none is stored."""
    found = await visit.services.tree.templates(visit.tenant)
    return next((one.policy for one in found if one.pattern == pattern), None)


def listing(templates: Sequence[Template], chosen: object) -> Markup:
    """The table of templates."""
    return render("budgets/templates.html", templates=templates, chosen=chosen, fields=_fields)


def form(
    pattern: Pattern,
    now: PolicyPatch | None,
    matches: Matches,
    caller: Principal,
    armed: TemplateChange | None,
    problem: str,
) -> Markup:
    """The form of one template, with the scopes that it matches.

    Args:
        pattern: the pattern.
        now: the stored template, if there is one.
        matches: the scopes that it matches.
        caller: the signed-in caller.
        armed: a change that waits for confirmation.
        problem: why the last attempt failed.
    """
    return render(
        "budgets/template.html",
        pattern=str(pattern),
        matches=matches,
        policy=now or PolicyPatch(),
        is_stored=now is not None,
        inputs=INPUTS,
        armed=armed is not None,
        changes=[] if armed is None or armed.after is None else differences(armed),
        may_change=caller.may(Permission.SET_BUDGETS),
        role=caller.role,
        problem=problem,
    )


def differences(change: TemplateChange) -> list[tuple[str, str, str]]:
    """Label, old and new value of the fields that a change alters."""
    before, after = change.seen or PolicyPatch(), change.after or PolicyPatch()
    return [
        (field_name(name), _value(before, name), _value(after, name))
        for name in POLICY_FIELDS
        if getattr(before, name) != getattr(after, name)
    ]


def _fields(patch: PolicyPatch) -> list[tuple[str, str]]:
    """Label and value of the fields that a template sets."""
    return [(field_name(name), _value(patch, name)) for name in POLICY_FIELDS if getattr(patch, name) is not None]


def _value(patch: PolicyPatch, name: str) -> str:
    return NOT_SET if getattr(patch, name) is None else value_of(patch, name)
