"""Tasks as the API answers them."""

from collections.abc import Mapping
from typing import Any

from purser.budget.scopes import Kind, Scope, agent_scope, payers
from purser.gateway.budgets.views import BudgetAnswer, IsoTime
from purser.gateway.http.views import View
from purser.workflows.contract import AgentStatus, TaskStatus


class TaskView(View):
    """A task."""

    task_id: str
    session_id: str
    user_id: str | None
    """Whose budget it draws on: as the task file says, or the user of the session."""
    submitter: str | None
    """As the task file says, or the name of the key."""
    submitted_by: str | None
    """The key that submitted it."""
    status: TaskStatus
    reason: str
    """Why it ended, where its workflow was gone before it could say: `workflow_terminated`, `workflow_lost`, …"""
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
    requested: int | None
    """Tokens that its last call asked for, admitted or not; `null` before the first."""
    output_capped: bool


class WholeTaskView(TaskView):
    """A task: its agents, what they replied and used, and the budgets that it draws on."""

    agents: dict[str, AgentView]
    scopes: dict[str, BudgetAnswer]


def scopes_of(tenant: str, task: Mapping[str, Any]) -> list[Scope]:
    """The scopes that a task's calls draw on, outermost first."""
    return [
        *payers(tenant, task["user_id"]),
        Scope(Kind.SESSION, task["session_id"]),
        Scope(Kind.TASK, task["task_id"]),
        *(agent_scope(task["task_id"], agent_id) for agent_id in task["agents"]),
    ]


class TaskAccepted(View):
    """A task that is stored and will be worked on."""

    task_id: str
    workflow_id: str
    status_url: str
