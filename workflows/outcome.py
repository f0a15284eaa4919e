"""The status with which a task ends, derived from the outcomes of its agents."""

from collections.abc import Sequence

from purser.workflows.contract import AgentOutcome, AgentStatus, TaskStatus


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
