"""The status and the reason with which a task ends, derived from the outcomes of its agents."""

from collections.abc import Sequence

from purser.workflows.contract import AgentOutcome, AgentStatus, TaskStatus

BUDGET = "budget"
"""The reason of an agent that gave its last answer because its budget was used up, and of its task."""


def task_status(agents: Sequence[AgentOutcome], *, cancelled: bool) -> TaskStatus:
    """Returns the status of a task whose agents have all ended.

    Args:
        agents: the outcome of each agent; may be empty if the task was cancelled before it began.
        cancelled: whether the task itself was cancelled.
    """
    ends = [agent.status for agent in agents]
    if ends and all(end is AgentStatus.COMPLETED for end in ends):
        return TaskStatus.COMPLETED
    if cancelled:
        return TaskStatus.CANCELLED
    if AgentStatus.COMPLETED in ends:
        return TaskStatus.PARTIAL
    if AgentStatus.REFUSED in ends:
        return TaskStatus.REFUSED
    if AgentStatus.CANCELLED in ends:
        return TaskStatus.CANCELLED
    return TaskStatus.FAILED


def task_reason(agents: Sequence[AgentOutcome], status: TaskStatus) -> str:
    """Returns `budget` if the task completed with the last answer of an agent whose budget was used up."""
    concluded = any(agent.reason == BUDGET for agent in agents if agent.status is AgentStatus.COMPLETED)
    return BUDGET if status is TaskStatus.COMPLETED and concluded else ""
