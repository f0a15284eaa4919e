"""Changing a budget: what was typed, and what it would do, before it is done."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from budget.money import typed_dollars
from budget.policies import Mode, Policy, PolicyPatch
from budget.views import BudgetView
from gateway.dashboard import amounts
from gateway.dashboard.act import Refused
from gateway.dashboard.budget_views import EFFECTS, field_name, value_of
from gateway.dashboard.markup import NOTHING, dollars, exact, join
from gateway.roles import Permission, Principal


@dataclass(frozen=True, slots=True)
class Change:
    """Fields to store, as the API takes them; `None` hands a field back to its default."""

    given: Mapping[str, Any]
    seen: Policy
    """What the person saw when asking for it."""


def read(budget: BudgetView, fields: Mapping[str, str]) -> Change:
    """What a person typed that differs from what is.

    Raises:
        Refused: it is no amount, or nothing changes.
    """
    policy, given = budget.policy, dict[str, Any]()
    tokens = amounts.count(fields.get("limit_tokens", ""), field_name("limit_tokens"))
    nano = amounts.nano_usd(fields.get("limit_dollars", ""), field_name("limit_nano_usd"))
    if tokens != policy.limit_tokens:
        given["limit_tokens"] = tokens
    if nano != policy.limit_nano_usd:
        given["limit_nano_usd"] = nano
    mode = fields.get("mode", "")
    if mode and mode != policy.mode:
        given["mode"] = mode
    if not given:
        raise Refused("Nothing is different from what is set.")
    for name, value in given.items():
        if value is None and budget.sources.get(name) != "stored":
            raise Refused(f"{field_name(name)}: it is not stored here, so there is nothing to take back. Type a limit.")
    return Change(given, policy)


def frozen(budget: BudgetView, on: bool) -> Change:
    """Freezes a scope, or lets it go on."""
    return Change({"frozen": on}, budget.policy)


def form(budget: BudgetView, caller: Principal, armed: Change | None, problem: str) -> Markup:
    """The form under a budget.

    Args:
        budget: as it stands.
        caller: who looks.
        armed: a change that waits for one more click.
        problem: why the last try was not done.
    """
    if not caller.may(Permission.SET_BUDGETS):
        reason = f"Your role {caller.role} looks at budgets; it takes admin to change them."
        return Markup('<p class="reason">{}</p>').format(reason)
    policy = budget.policy
    told = Markup('<p class="problem" role="alert">{}</p>').format(problem) if problem else NOTHING
    body = join([told, _fields(policy), _buttons(policy) if armed is None else _question(budget, armed)])
    shown = Markup('<form class="decide" data-act="change" data-reset="{}" autocomplete="off">{}</form>')
    return shown.format(f"{policy.limit_tokens}/{policy.limit_nano_usd}/{policy.mode}", body)


def _fields(policy: Policy) -> Markup:
    money = "" if policy.limit_nano_usd is None else typed_dollars(policy.limit_nano_usd)
    options = join(
        Markup('<option value="{}"{}>{}: {}</option>').format(
            mode, Markup(" selected") if mode is policy.mode else NOTHING, mode, EFFECTS[mode]
        )
        for mode in Mode
    )
    return Markup(
        '<div class="inputs"><div><label for="limit_tokens">Token limit</label><input id="limit_tokens" '
        'name="limit_tokens" inputmode="numeric" value="{}" placeholder="none"></div>'
        '<div><label for="limit_dollars">Money limit in dollars</label><input id="limit_dollars" name="limit_dollars" '
        'inputmode="decimal" value="{}" placeholder="none"></div></div>'
        '<div><label for="mode">Mode</label><select id="mode" name="mode">{}</select></div>'
    ).format("" if policy.limit_tokens is None else exact(policy.limit_tokens), money, options)


def _buttons(policy: Policy) -> Markup:
    freeze = ("thaw", "Let it go on …") if policy.frozen else ("freeze", "Freeze …")
    return Markup(
        '<div class="buttons"><button type="submit" class="btn main-act" data-act="change">Change …</button>'
        '<button type="button" class="btn danger" data-act="{}">{}</button></div>'
    ).format(*freeze)


def _question(budget: BudgetView, armed: Change) -> Markup:
    lines = [
        Markup("<li>{}: <s>{}</s> → <b>{}</b></li>").format(
            field_name(name), value_of(budget.policy, name), after(budget, name, value)
        )
        for name, value in armed.given.items()
    ]
    return Markup(
        '<div class="question wide" role="group" aria-label="Before and after"><ul>{}</ul><p>{}</p>'
        '<button type="submit" id="confirm" class="btn main-act" data-act="confirm">Yes, change it</button>'
        '<button type="button" class="btn" data-act="back">Back</button></div>'
    ).format(join(lines), effect(budget, armed))


def after(budget: BudgetView, name: str, value: Any) -> str:
    """One field as it would be."""
    if value is None:
        return "its default"
    patch = PolicyPatch.parse({name: value})
    return value_of(Policy(**{name: getattr(patch, name)}), name)


def effect(budget: BudgetView, change: Change) -> str:
    """What a change means for calls."""
    if "frozen" in change.given:
        if change.given["frozen"]:
            return "From now on every call that draws on this scope is refused; those under way finish."
        return "From now on calls that fit are let through again."
    told = []
    mode = Mode(change.given.get("mode", budget.policy.mode))
    for name, spent, held, granted, shown in _units(budget):
        limit = change.given.get(name, getattr(budget.policy, name))
        if limit is None or name not in change.given:
            continue
        room = limit + granted - spent - held
        if room < 0:
            told.append(f"More than that is spent and held already: from the next call on {EFFECTS[mode]}.")
        else:
            told.append(f"That leaves {shown(room)}.")
    if "mode" in change.given and not any("next call" in text for text in told):
        told.append(f"From the next call on {EFFECTS[mode]}.")
    told.append("Calls under way finish either way.")
    return " ".join(told)


def _units(budget: BudgetView) -> tuple[tuple[str, int, int, int, Any], ...]:
    spent, held, granted = budget.spent, budget.held, budget.granted
    return (
        ("limit_tokens", spent.tokens, held.tokens, granted.tokens, lambda count: f"{exact(count)} tokens"),
        ("limit_nano_usd", spent.nano_usd, held.nano_usd, granted.nano_usd, dollars),
    )
