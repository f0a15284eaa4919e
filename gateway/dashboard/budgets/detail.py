"""One budget: its figures, and the changes of its policy."""

from collections.abc import Sequence

from markupsafe import Markup

from purser.budget.postgres.changes import Change
from purser.budget.reports.forecast import Forecast
from purser.budget.reports.views import BudgetView
from purser.gateway.dashboard.budgets import wording
from purser.gateway.dashboard.changes.differences import differences
from purser.gateway.dashboard.components import render
from purser.gateway.dashboard.policies import BASES


def figures(budget: BudgetView, forecast: Forecast | None) -> Markup:
    """The figures of a budget in its window, and its forecast."""
    return render(
        "budgets/detail.html",
        scope=budget.scope,
        budget=budget,
        bar=wording.leading_bar(budget),
        figures=wording.figures(budget),
        forecast=forecast,
        bases=BASES,
        recorded=wording.recorded(budget),
    )


def history(changes: Sequence[Change], target: str) -> Markup:
    """The latest changes of a policy or a template."""
    return render("budgets/history.html", changes=changes, differences=differences, target=target)
