"""Texts and figures of budgets."""

from collections.abc import Callable
from datetime import datetime, timedelta

from purser.budget.policies import Mode, Policy
from purser.budget.reports.forecast import Forecast
from purser.budget.reports.views import BudgetView
from purser.gateway.dashboard.components import Bar, bar
from purser.gateway.dashboard.formats import dollars, exact, short
from purser.gateway.dashboard.policies import SOURCES

EFFECTS = {
    Mode.HARD: "what does not fit is refused",
    Mode.SOFT: "what does not fit is warned about and goes on",
    Mode.APPROVAL: "what does not fit waits for a person",
}
_FIELDS = {
    "limit_tokens": "Token limit",
    "limit_nano_usd": "Money limit",
    "mode": "Mode",
    "window": "Window",
    "timezone": "Time zone",
    "warn_at": "Warns at",
    "backpressure": "Slows down at",
    "approval": "Approvals",
    "frozen": "Frozen",
}


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


def runs_out_within(budget: BudgetView, forecast: Forecast | None, within: timedelta, now: datetime) -> bool:
    """Whether the budget is not used up yet, but will be within `within` according to its forecast."""
    if forecast is None or forecast.exhausts_at is None or budget.ratio is None or budget.ratio >= 1:
        return False
    return forecast.exhausts_at <= now + within


def figures(budget: BudgetView) -> list[tuple[str, list[str]]]:
    """All exact figures: name, value in tokens and, where money is used or limited, in money."""
    policy = budget.policy
    units = [_figures(exact, "tokens", budget, policy.limit_tokens)]
    if policy.limit_nano_usd is not None or budget.spent.nano_usd or budget.held.nano_usd:
        units.append(_figures(dollars, "nano_usd", budget, policy.limit_nano_usd))
    names = ("Spent", "Held", "Granted", "Limit", "Left", "Overrun")
    return [(name, list(values)) for name, *values in zip(names, *units, strict=True)]


def _figures(shown: Callable[[int], str], unit: str, budget: BudgetView, most: int | None) -> list[str]:
    """The figures of one unit, from top to bottom."""
    spent, held, granted, overrun = (
        getattr(one, unit) for one in (budget.spent, budget.held, budget.granted, budget.overrun)
    )
    limits = ["—", "—"] if most is None else [shown(most), shown(most + granted - spent - held)]
    return [shown(spent), shown(held), shown(granted), *limits, shown(overrun)]


def sources(budget: BudgetView) -> list[tuple[str, str, str]]:
    """Label, value and source of every field of the policy."""
    found = budget.sources
    return [
        (label, value_of(budget.policy, name), SOURCES.get(found.get(name, ""), found.get(name, "")))
        for name, label in _FIELDS.items()
    ]


def value_of(policy: Policy, name: str) -> str:
    """The value of a field of a policy, in words."""
    value = getattr(policy, name)
    match name:
        case "limit_tokens":
            return "none" if value is None else f"{exact(value)} tokens"
        case "limit_nano_usd":
            return "none" if value is None else dollars(value)
        case "warn_at":
            return ", ".join(f"{ratio * 100:.0f} %" for ratio in value) or "never"
        case "backpressure":
            return ", ".join(f"{step.ratio * 100:.0f} %: {step.delay_ms} ms" for step in value) or "never"
        case "approval":
            people = (
                f"two people above {exact(value.two_people_above_tokens)} tokens"
                if value.two_people_above_tokens is not None
                else "one person"
            )
            return f"{people}, {value.deadline_s // 60} min, then {value.on_expiry}"
        case "frozen":
            return "yes" if value else "no"
    return str(value)


def field_name(name: str) -> str:
    """The label of a field of a policy."""
    return _FIELDS[name]
