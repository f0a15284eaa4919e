"""Tasks as the API answers them."""

from gateway.budget_views import BudgetAnswer, IsoTime
from gateway.views import View
from workflows.contract import AgentStatus, TaskStatus


class TaskView(View):
    """A task."""

    task_id: str
    session_id: str
    submitter: str | None
    """As the task file says, or the name of the key."""
    submitted_by: str | None
    """The key that submitted it."""
    status: TaskStatus
    submitted_at: IsoTime
    ended_at: IsoTime | None


class AgentUsageView(View):
    """Tokens that an agent was charged, by class."""

    input: int
    cache_read: int
    cache_write_5m: int
    cache_write_1h: int
    output: int
    reasoning: int | None
    """Part of `output`."""
    unsplit: int
    """Of reports that tell a total only, and of attempts that never reported."""
    estimated: bool


class AgentView(View):
    """One agent of a task."""

    status: AgentStatus
    reason: str
    """Why it ended so; empty while it has not."""
    scope: str
    """The scope that refused it, or empty."""
    reply: str | None
    usage: AgentUsageView
    turns: int
    nano_usd: int
    holds: int
    delay_ms: int
    """Backpressure, all turns together."""
    approvals: int
    overrun: int
    output_capped: bool


class WholeTaskView(TaskView):
    """A task: its agents, what they replied and used, and the budgets that it draws on."""

    agents: dict[str, AgentView]
    scopes: dict[str, BudgetAnswer]
