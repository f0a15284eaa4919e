"""Labels of policy sources and burn rates that the pages of approvals and budgets share."""

from purser.budget.reports.forecast import Basis

SOURCES = {"stored": "a stored policy", "request": "the task", "default": "the default"}
"""Labels of the sources of a policy's fields; other sources have their own names."""
BASES = {
    Basis.HOUR: "in the last hour",
    Basis.DAY: "in the last day",
    Basis.SINCE_FIRST: "since its first call",
    Basis.TOO_SHORT: "",
}
"""The period from which a burn rate is computed."""
