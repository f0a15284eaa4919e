"""Texts and figures of budgets."""

from collections.abc import Callable
from math import inf

from purser.budget.policies.fields import ApprovalRules
from purser.budget.policies.policy import Policy, PolicyPatch
from purser.budget.reports.views import BudgetView
from purser.gateway.dashboard.budgets.fields import INPUTS, POLICY_FIELDS, field_name, typed_span
from purser.gateway.dashboard.components import Bar, bar
from purser.gateway.dashboard.formats import dollars, exact, exact_dollars, plural, short
from purser.gateway.dashboard.policies import SOURCES, two_people


def leading_bar(budget: BudgetView) -> Bar:
    """The bar of the unit with the higher ratio."""
    policy, spent, held, granted = budget.policy, budget.spent, budget.held, budget.granted
    if policy.limit_nano_usd is not None and (policy.limit_tokens is None or _money_leads(budget)):
        return bar(spent.nano_usd, held.nano_usd, policy.limit_nano_usd, granted.nano_usd, unit="nano-dollars")
    return bar(spent.tokens, held.tokens, policy.limit_tokens, granted.tokens)


def _money_leads(budget: BudgetView) -> bool:
    tokens, nano = budget.policy.limit_tokens or 0, budget.policy.limit_nano_usd or 0
    money = (budget.spent.nano_usd + budget.held.nano_usd) * (tokens + budget.granted.tokens)
    return money > (budget.spent.tokens + budget.held.tokens) * (nano + budget.granted.nano_usd)


def use_of(budget: BudgetView) -> float:
    """The share of the limit that is used, to sort by it; below 0 without a limit."""
    if budget.policy.unlimited:
        return -1.0
    return inf if budget.ratio is None else budget.ratio


def limit(budget: BudgetView) -> str:
    """The limit with grants, in short figures; empty without a limit."""
    policy, shown = budget.policy, []
    if policy.limit_tokens is not None:
        granted = f" + {short(budget.granted.tokens)}" if budget.granted.tokens else ""
        shown.append(f"{short(policy.limit_tokens)}{granted}")
    if policy.limit_nano_usd is not None:
        granted = f" + {dollars(budget.granted.nano_usd)}" if budget.granted.nano_usd else ""
        shown.append(f"{dollars(policy.limit_nano_usd)}{granted}")
    return " · ".join(shown)


def figures(budget: BudgetView) -> list[tuple[str, list[str]]]:
    """All exact figures: name, value in tokens and, where money is used or limited, in money."""
    policy = budget.policy
    units = [_figures(exact, "tokens", budget, policy.limit_tokens)]
    if policy.limit_nano_usd is not None or budget.spent.nano_usd or budget.held.nano_usd:
        units.append(_figures(exact_dollars, "nano_usd", budget, policy.limit_nano_usd))
    names = ("Spent", "Held", "Granted", "Limit", "Left", "Overrun")
    return [(name, list(values)) for name, *values in zip(names, *units, strict=True)]


def _figures(shown: Callable[[int], str], unit: str, budget: BudgetView, most: int | None) -> list[str]:
    """The figures of one unit, from top to bottom."""
    spent, held, granted, overrun = (
        getattr(one, unit) for one in (budget.spent, budget.held, budget.granted, budget.overrun)
    )
    limits = ["—", "—"] if most is None else [shown(most), shown(most + granted - spent - held)]
    return [shown(spent), shown(held), shown(granted), *limits, shown(overrun)]


def recorded(budget: BudgetView) -> str:
    """What a policy in shadow would have done with the calls of the window; empty if it is none and did nothing."""
    counts = [(count, outcome) for outcome, count in budget.would.items() if count]
    if not counts:
        return "Nothing in this window so far." if budget.policy.shadow else ""
    return ", ".join(f"{outcome} {exact(count)} {plural(count, 'call')}" for count, outcome in counts)


def sources(budget: BudgetView) -> list[tuple[str, str, str, str]]:
    """Name, label, value and source of every field of the policy."""
    found = budget.sources
    return [
        (name, field_name(name), value_of(budget.policy, name), SOURCES.get(found.get(name, ""), found.get(name, "")))
        for name in POLICY_FIELDS
    ]


def value_of(policy: Policy | PolicyPatch, name: str) -> str:
    """The value of a field of a policy, in words."""
    value = getattr(policy, name)
    match name:
        case "limit_tokens":
            return "none" if value is None else f"{exact(value)} tokens"
        case "limit_nano_usd":
            return "none" if value is None else exact_dollars(value)
        case "approval":
            return _rules(value)
    return next(one for one in INPUTS if one.name == name).text(policy) or "none"


def _rules(rules: ApprovalRules) -> str:
    barred = ", not the submitter" if rules.not_submitter else ""
    parts = [f"{' or '.join(rules.roles)}{barred}, {two_people(rules) or 'one person'}"]
    parts.append(f"{typed_span(rules.deadline_s)}, then {rules.on_expiry}")
    for what, lead in (("reminder", rules.remind_s), ("deputies", rules.escalate_s)):
        parts += [f"{what} {typed_span(lead)} before"] if lead is not None else []
    return "; ".join(parts)
