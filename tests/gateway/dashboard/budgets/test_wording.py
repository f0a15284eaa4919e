"""The budgets that the filter *Runs out* lists."""

from datetime import UTC, datetime, timedelta

from purser.budget.gate import Amount
from purser.budget.policies import Policy
from purser.budget.reports.forecast import Basis, Forecast
from purser.budget.reports.views import BudgetView
from purser.budget.scopes import Scope
from purser.gateway.dashboard.budgets.wording import runs_out_within

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def budget(spent: int) -> BudgetView:
    """A budget with a limit of 100 tokens."""
    nothing = Amount()
    policy = Policy(limit_tokens=100)
    return BudgetView(Scope.parse("session:s"), policy, {}, None, None, Amount(spent), nothing, nothing, nothing)


def test_only_budgets_that_run_out_in_time_and_are_not_used_up_are_listed() -> None:
    def ends(after: timedelta) -> Forecast:
        return Forecast(1, 0, NOW + after, Basis.HOUR)

    assert runs_out_within(budget(50), ends(timedelta(minutes=59)), HOUR, NOW)
    assert not runs_out_within(budget(50), ends(timedelta(hours=8)), HOUR, NOW)
    assert not runs_out_within(budget(100), ends(timedelta()), HOUR, NOW)  # it is used up
    assert not runs_out_within(budget(50), Forecast(), HOUR, NOW)
    assert not runs_out_within(budget(50), None, HOUR, NOW)
