"""Texts about policies and burn rates that the pages of approvals and budgets share."""

from purser.budget.policies.fields import ApprovalRules
from purser.budget.reports.forecast import Basis
from purser.gateway.dashboard.formats import exact, exact_dollars

SOURCES = {"stored": "a stored policy", "request": "the task", "default": "the default"}
"""Labels of the sources of a policy's fields; other sources have their own names."""
BASES = {
    Basis.HOUR: "in the last hour",
    Basis.DAY: "in the last day",
    Basis.SINCE_FIRST: "since its first call",
    Basis.TOO_SHORT: "",
}
"""The period from which a burn rate is computed."""


def two_people(rules: ApprovalRules) -> str:
    """Above which amounts two people have to approve, in words; empty: never."""
    amounts = []
    if rules.two_people_above_tokens is not None:
        amounts.append(f"{exact(rules.two_people_above_tokens)} tokens")
    if rules.two_people_above_nano_usd is not None:
        amounts.append(exact_dollars(rules.two_people_above_nano_usd))
    return f"two people above {' or '.join(amounts)}" if amounts else ""
