"""Answers of `/v1/tasks`."""

from datetime import datetime

from .base import PageOf, RefusalView, View
from .budgets import BudgetAnswer
from .enums import AgentStatus, CallPart, State, StrategyName, TaskStatus
from .windows import ContextView


class TaskView(View):
    """A task."""

    task_id: str
    session_id: str
    user_id: str | None
    """User on whose budget it draws: as in the task file, or the user of the session."""
    submitter: str | None
    """As in the task file, or the name of the key."""
    submitted_by: str | None
    """Name of the key that submitted it."""
    tags: dict[str, str]
    """Tags of all its calls: those of the task file and of that key."""
    status: TaskStatus
    reason: str
    """Why it ended, if its workflow could not report it: `workflow_terminated`, `workflow_lost`, …"""
    submitted_at: datetime
    ended_at: datetime | None


class AgentUsageView(View):
    """Tokens charged to an agent, by class."""

    input: int
    cache_read: int
    cache_write_5m: int
    cache_write_1h: int
    output: int
    reasoning: int | None
    """Part of `output`."""
    unsplit: int
    """Tokens of reports that state only a total, and of attempts that never reported."""
    estimated: bool


class ShortfallView(View):
    """Why the window of an agent was too small for what must be in it."""

    budget: int
    """Context budget in tokens. Instructions and tools have their own reserve beside it."""
    parts: dict[str, int]
    """Tokens of each required part, after everything that may be clipped."""
    text: str
    """The figures, and what can be done, in one sentence."""


class FailureView(View):
    """Why the newest attempt of a call failed that is tried again."""

    attempt: int
    """Number of the attempt, from 1."""
    reason: str
    """Stable code, such as `unreachable` or `rate_limited`."""
    at: datetime


class AgentView(View):
    """One agent of a task."""

    status: AgentStatus
    reason: str
    """Why it ended with this status; empty while it runs."""
    scope: str
    """The scope that refused it; empty if none did."""
    refusal: RefusalView | None
    """The figures behind the refusal of a refused agent, and what to do about it."""
    shortfall: ShortfallView | None
    """The figures of an agent that failed with `WindowTooSmall`."""
    failure: FailureView | None = None
    """The last failure of the call that it is making; `null` if that has not failed."""
    reply: str | None
    usage: AgentUsageView
    turns: int
    nano_usd: int
    holds: int
    delay_ms: int
    """Backpressure delay, over all turns."""
    approvals: int
    overrun: int
    requested: int | None
    """Tokens that its last call asked for, admitted or not; `null` before the first call."""
    output_capped: bool


class WholeTaskView(TaskView):
    """A task with its agents, their replies and usage, and the budgets on which it draws."""

    agents: dict[str, AgentView]
    scopes: dict[str, BudgetAnswer]
    context: ContextView | None
    """Settings of its windows; `null` if its session was deleted."""


class TaskAccepted(View):
    """A task that is stored and will be run."""

    task_id: str
    workflow_id: str
    """Id of its workflow in Temporal, which starts a moment after the task is stored."""
    status_url: str


class TaskSubmitted(TaskAccepted):
    """A submitted task."""

    warnings: list[str]
    """Common pitfalls of the task file; the task runs nevertheless."""


class CallView(View):
    """A model call of a task."""

    call: str
    """Its key."""
    agent_id: str
    turn: int
    model: str
    at: datetime
    """When its window was planned."""
    hold_id: str | None
    """Its hold; `null` if nothing was held."""
    strategy: StrategyName
    """Strategy by which its window was cut, if it was."""
    prompt_tokens: int
    """Tokens of the whole request, as counted."""
    tokens_saved: int
    """Tokens that the window leaves out, less those of its summaries."""


class SpanView(View):
    """Messages of one part of a window that have the same state for the same reason."""

    part: CallPart
    state: State
    reason: str
    """`fits`, `summary`, `old_tool_result`, `too_large`, or why the messages were dropped."""
    first_seq: int | None
    """First message; `null` for text that is no message of the session."""
    last_seq: int | None
    messages: int | None
    """Number of messages; `null` for a range, which other threads may share."""
    tokens: int | None
    """Tokens that the window shows, where they are known for these messages alone."""
    original_tokens: int | None
    """Tokens of a message that is shown in part."""
    version: int | None
    """Version of the summary that covers the messages."""
    agent_id: str | None
    """Agent that replied."""


class CallWindowView(CallView):
    """What a call saw."""

    budget: int
    """Tokens that its conversations might fill."""
    system_tokens: int
    """Tokens of instructions and tools."""
    strategy_reason: str | None
    """Why `auto` chose the strategy; `null` if it was set."""
    optimization_applied: bool
    """Whether the window left anything out."""
    recall: bool
    """Whether the call offered the tool `recall_message`."""
    parts: list[SpanView]
    """In the order of the window."""


TaskPage = PageOf[TaskView]
CallPage = PageOf[CallView]
