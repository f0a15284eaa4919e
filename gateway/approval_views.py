"""Approval requests as the API answers them."""

from datetime import datetime

from budget.approvals import ApprovalState, Choice, Identity
from gateway.budget_views import ApprovalRulesView, ForecastView
from gateway.views import AmountView, View


class StandingView(View):
    """Figures of the short scope in one unit."""

    spent: int
    held: int
    granted: int


class WaiterView(View):
    """A hold that waits for the decision."""

    key: str
    task_id: str
    agent_id: str
    submitter: str | None
    """Who submitted the task, as its file says."""
    submitted_by: str | None
    """The key that submitted it."""
    tokens: int
    nano_usd: int
    since: datetime


class PastDecisionView(View):
    """A decision that was made."""

    decision_id: str
    decision: Choice
    approver: str
    identity: Identity
    """How sure it is who decided: by a key, or a name that the sender gave himself."""
    grant_tokens: int
    grant_nano_usd: int
    until: datetime | None
    note: str | None
    at: datetime


class ApprovalView(View):
    """A request with everything that a person needs to decide it."""

    approval_id: str
    scope: str
    window_start: datetime | None
    """`null` for a lifetime."""
    state: ApprovalState
    asked: AmountView
    """What is short now; of a closed request, what was short when it closed."""
    given: AmountView
    limit_tokens: int | None
    limit_nano_usd: int | None
    tokens: StandingView
    nano_usd: StandingView
    decisions_needed: int
    """How many more people it takes to grant what is short."""
    rules: ApprovalRulesView
    created_at: datetime
    deadline: datetime
    decided_at: datetime | None
    waiters: list[WaiterView]
    decisions: list[PastDecisionView]
    forecast: ForecastView
    """Of the scope: how fast it spends, and when the rest is used up at that rate."""
