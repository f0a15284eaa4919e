"""Policies and rates of spending in the words that approvals and budgets share."""

from purser.budget.reports.forecast import Basis

SOURCES = {"stored": "a stored policy", "request": "the task", "default": "the default"}
"""Where a field of a policy comes from; others go by their own names."""
BASES = {
    Basis.HOUR: "in the last hour",
    Basis.DAY: "in the last day",
    Basis.SINCE_FIRST: "since its first call",
    Basis.TOO_SHORT: "",
}
"""What a rate is taken from."""
